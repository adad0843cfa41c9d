package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree writes files, given as "path" or "path: text", into a new folder.
func tree(t testing.TB, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		name, text, _ := strings.Cut(f, ": ")
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func walk(t testing.TB, root string, opt Options) string {
	t.Helper()
	var got []string
	err := Walk(context.Background(), root, opt, func(dir string, files []string) error {
		for _, f := range files {
			got = append(got, dirPrefix(dir)+f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, " ")
}

func TestWalk(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		below string
		opt   Options
		want  string
	}{
		{"order", []string{"b", "a", "d/z", "c/y", "c/x/w"}, "", Options{}, "a b c/y c/x/w d/z"},
		{"hidden", []string{".h", "a", ".d/x"}, "", Options{}, "a"},
		{"hidden wanted", []string{".h", "a", ".d/x", ".git/config"}, "", Options{Hidden: true},
			".h a .d/x"},
		{"gitignore only in a repository", []string{".gitignore: a", "a", "b"}, "", Options{},
			"a b"},
		{"gitignore", []string{".git/HEAD", ".gitignore: a\nout/", "a", "b", "out/x", "s/a"}, "",
			Options{}, "b"},
		{"all", []string{".git/HEAD", ".gitignore: a", "a", "b"}, "", Options{All: true}, "a b"},
		{"ignore outside a repository", []string{".ignore: a", "a", "b"}, "", Options{}, "b"},
		{"agentignore is strongest", []string{".ignore: a\n!b", ".agentignore: b\n!a", "a", "b"},
			"", Options{}, "a"},
		{"nearer wins", []string{".ignore: a", "a", "s/.ignore: !a", "s/a", "s/t/a"}, "", Options{},
			"s/a s/t/a"},
		{"parents count", []string{".git/HEAD", ".gitignore: x.log", "s/x.log", "s/y"}, "s",
			Options{}, "y"},
		{"nested repository", []string{".git/HEAD", ".gitignore: a", "sub/.git/HEAD", "sub/a"}, "",
			Options{}, "sub/a"},
		{"exclude", []string{".git/info/exclude: a", "a", "b"}, "", Options{}, "b"},
		{"hidden file that an ignore file re-includes",
			[]string{".ignore: !.env.example\n!.github/", ".env", ".env.example",
				".github/w/ci.yml", ".github/.x", ".other/y"}, "", Options{},
			".env.example .github/w/ci.yml"},
		{"hidden file that .gitignore re-includes",
			[]string{".git/HEAD", ".gitignore: .*\n!.keep", ".keep", ".drop", "s/.keep"}, "",
			Options{}, ".keep s/.keep"},
		{"re-included, but .git stays out", []string{".git/HEAD", ".gitignore: !.git", "a"}, "",
			Options{}, "a"},
		{"anchored in a folder", []string{".git/HEAD", "s/.gitignore: /a", "s/a", "s/t/a", "a"}, "",
			Options{}, "a s/t/a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := walk(t, filepath.Join(tree(t, c.files...), c.below), c.opt); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWalkGlobalIgnore(t *testing.T) {
	root := tree(t, ".git/HEAD", "a.swp", "b")
	global := filepath.Join(tree(t, "ignore: *.swp"), "ignore")
	if got := walk(t, root, Options{Global: global}); got != "b" {
		t.Errorf("got %q", got)
	}
}

func TestWalkLinks(t *testing.T) {
	root := tree(t, "d/f")
	for link, to := range map[string]string{"loop": ".", "d/up": "..", "file": "d/f",
		"dangling": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if got := walk(t, root, Options{}); got != "d/f" {
		t.Errorf("got %q", got)
	}
	if got := walk(t, root, Options{Symlinks: true}); got != "file d/f" {
		t.Errorf("with links: got %q", got)
	}
}

func TestWalkEnds(t *testing.T) {
	root := tree(t, "a", "b/c", "d/e")
	if err := Walk(context.Background(), filepath.Join(root, "none"), Options{},
		nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing root: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	err := Walk(ctx, root, Options{}, func(string, []string) error { n++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("cancelled: %v after %d", err, n)
	}
	n = 0
	if err := Walk(context.Background(), root, Options{},
		func(string, []string) error { n++; return ErrSkip }); err != nil || n != 1 {
		t.Errorf("skipped: %v after %d", err, n)
	}
}

// The order of the results does not depend on the number of workers, even with more folders than
// are read ahead.
func TestWalkDeterministic(t *testing.T) {
	var files []string
	for i := range 300 {
		files = append(files, fmt.Sprintf("d%d/e%d/f%d", i%7, i%31, i))
	}
	root := tree(t, files...)
	want := walk(t, root, Options{forced: 1})
	for _, n := range []int{2, 4, 16} {
		if got := walk(t, root, Options{forced: n}); got != want {
			t.Errorf("%d forced: another order", n)
		}
	}
	if n := len(strings.Fields(want)); n != len(slices.Compact(files)) {
		t.Errorf("%d files", n)
	}
}
