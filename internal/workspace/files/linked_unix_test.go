//go:build unix

package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// If a folder in a path is replaced with a link after the path was resolved and the user was asked
// about it, no access follows the link, even if it leads to a folder in the same root.
func TestNoAccessFollowsANewLink(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	refs := path.NewRoots(top, "")
	ref := func(name string) path.Ref {
		at, err := refs.Locate("", name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := at.Ref(false)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, dir := range []string{".git/sub", "d/sub"} {
		for _, name := range []string{"/old", "/sub/old"} {
			must(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
			file := filepath.Join(top, strings.TrimSuffix(dir, "/sub")+name)
			must(t, os.WriteFile(file, []byte("text"), 0o644))
		}
	}
	must(t, os.WriteFile(filepath.Join(top, "own"), []byte("text"), 0o755))
	own, same := ref("own"), Hash([]byte("text"))
	uses := map[string]func(old, fresh path.Ref) error{
		"Open": func(old, _ path.Ref) error {
			f, _, err := Open(old)
			if err == nil {
				f.Close()
			}
			return err
		},
		"Read":   func(old, _ path.Ref) error { _, _, err := Read(old); return err },
		"Stat":   func(old, _ path.Ref) error { _, err := Stat(old); return err },
		"Create": func(_, fresh path.Ref) error { return Write(fresh, nil, "", 0) },
		"Modify": func(old, _ path.Ref) error { return Write(old, []byte("new"), same, 0) },
		"Remove": func(old, _ path.Ref) error { return Remove(old, same) },
		"From":   func(old, _ path.Ref) error { return Move(old, ref("moved")) },
		"To":     func(_, fresh path.Ref) error { return Move(own, fresh) },
	}
	inside := map[string][2]path.Ref{
		"d":     {ref("d/old"), ref("d/new")},
		"d/sub": {ref("d/sub/old"), ref("d/sub/made/new")},
	}
	folders := map[string]path.Ref{"d": ref("d"), "d/sub": ref("d/sub")}
	staged, err := Stage(ref("d/late"), []byte("x"), "", 0)
	must(t, err)
	before := names(t, filepath.Join(top, ".git"))
	must(t, os.Rename(filepath.Join(top, "d"), filepath.Join(top, "e")))
	must(t, os.Symlink(".git", filepath.Join(top, "d")))
	for use, do := range uses {
		for at, refs := range inside {
			if err := do(refs[0], refs[1]); err == nil {
				t.Errorf("%s in %s followed the link", use, at)
			}
		}
	}
	for at, r := range folders {
		if list, err := ReadDir(r); err == nil {
			t.Errorf("listing %s followed the link: %v", at, list)
		}
	}
	must(t, staged.Commit()) // goes into the folder in which it was staged
	if after := names(t, filepath.Join(top, ".git")); after != before {
		t.Errorf("the folder behind the link holds\n%s, before\n%s", after, before)
	}
	if _, err := os.Stat(filepath.Join(top, "e/late")); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names lists the names and contents of the files in a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			data, rerr := os.ReadFile(path)
			b.WriteString(path + " " + string(data) + "\n")
			return rerr
		}
		return err
	}))
	return b.String()
}

// If a root inside another root is replaced with a link after the path was resolved, no access
// follows the link.
func TestNoAccessFollowsAReplacedRoot(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub, outside := filepath.Join(top, "main/a/sub"), filepath.Join(top, "outside")
	must(t, os.MkdirAll(sub, 0o755))
	must(t, os.Mkdir(outside, 0o755))
	for _, dir := range []string{sub, outside} {
		must(t, os.WriteFile(filepath.Join(dir, "old"), []byte("text"), 0o644))
	}
	roots := path.NewRoots(top, "")
	roots.Set([]string{path.ToURI(filepath.Join(top, "main")), path.ToURI(sub)})
	var refs []path.Ref
	for _, name := range []string{"old", "new"} {
		at, err := roots.Locate("", filepath.Join(sub, name))
		must(t, err)
		ref, err := at.Ref(false)
		must(t, err)
		refs = append(refs, ref)
	}
	must(t, os.Rename(filepath.Join(top, "main/a"), filepath.Join(top, "main/b")))
	must(t, os.Mkdir(filepath.Join(top, "main/a"), 0o755))
	must(t, os.Symlink(outside, sub))
	if _, _, err := Read(refs[0]); err == nil {
		t.Error("a file outside was read")
	}
	if err := Write(refs[1], []byte("x"), "", 0); err == nil {
		t.Error("a file outside was written")
	}
}
