package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func find(t testing.TB, x *Index, query string, limit int, boost map[string]int) string {
	t.Helper()
	var got []string
	for _, h := range x.Find(context.Background(), query, limit, boost) {
		got = append(got, h.Path)
	}
	return strings.Join(got, " ")
}

func newIndex(t testing.TB, root string) *Index {
	x := NewIndex(root, Options{Symlinks: true})
	t.Cleanup(x.Close)
	return x
}

func TestFind(t *testing.T) {
	x := newIndex(t, tree(t, "main.go", "cmd/app/main.go", "main/other.txt", "domain.go",
		"internal/session/store.go",
		"internal/session/store_test.go", "docs/Session Notes.md", "src/userProfileView.tsx",
		"src/superb.go", "Éclair.md", "node_modules/.x"))
	for _, c := range []struct {
		query string
		limit int
		want  string
	}{
		{"main.go", 2, "main.go cmd/app/main.go"},
		{"main", 4, "main.go cmd/app/main.go domain.go main/other.txt"},
		{"MAIN app", 9, "cmd/app/main.go"},
		{"store", 1, "internal/session/store.go"},
		{"sess/st", 2, "internal/session/store.go internal/session/store_test.go"},
		{"upv", 1, "src/userProfileView.tsx"},
		{"session", 1, "docs/Session Notes.md"},
		{"istest", 1, "internal/session/store_test.go"},
		{"éclair", 1, "Éclair.md"},
		{"zzz", 5, ""},
		{"", 2, "main.go domain.go"},
	} {
		if got := find(t, x, c.query, c.limit, nil); got != c.want {
			t.Errorf("%q: got %q, want %q", c.query, got, c.want)
		}
	}
	if got := find(t, x, "main", 1,
		map[string]int{"cmd/app/main.go": 500}); got != "cmd/app/main.go" {
		t.Errorf("boosted: %q", got)
	}
}

// A query finds changes made since the last one: new and deleted files and folders, and changed
// ignore files.
func TestFindFollowsChanges(t *testing.T) {
	root := tree(t, ".git/HEAD", "a/one.go", "b/two.go", "keep/x.go")
	x := newIndex(t, root)
	await := func(want string) {
		t.Helper()
		deadline := time.Now().Add(2 * time.Minute)
		for {
			got := find(t, x, ".go", 10, nil)
			if got == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	await("keep/x.go a/one.go b/two.go")
	do(os.WriteFile(filepath.Join(root, "a/new.go"), nil, 0o644))
	await("keep/x.go a/new.go a/one.go b/two.go")
	do(os.RemoveAll(filepath.Join(root, "a")))
	do(os.MkdirAll(filepath.Join(root, "c/d"), 0o755))
	do(os.WriteFile(filepath.Join(root, "c/d/deep.go"), nil, 0o644))
	await("keep/x.go b/two.go c/d/deep.go")
	do(os.WriteFile(filepath.Join(root, ".gitignore"), []byte("b/\n"), 0o644))
	await("keep/x.go c/d/deep.go")
	do(os.WriteFile(filepath.Join(root, ".gitignore"), []byte("c/\nnone\n"), 0o644))
	await("keep/x.go b/two.go")
}

func TestFindMissingRoot(t *testing.T) {
	x := newIndex(t, filepath.Join(t.TempDir(), "none"))
	if got := find(t, x, "a", 5, nil); got != "" {
		t.Errorf("got %q", got)
	}
}

// BenchmarkFind answers queries for 100,000 files in 2,000 folders. Each query checks for changes.
func BenchmarkFind(b *testing.B) {
	root := b.TempDir()
	for d := range 2000 {
		dir := filepath.Join(root, fmt.Sprintf("pkg%d/component%d/internal%d", d%20, d%200, d))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 50 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("serviceHandler%d_%d.go", d, f)),
				nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	x := newIndex(b, root)
	start := time.Now()
	x.Find(context.Background(), "x", 1, nil)
	b.Logf("built in %v", time.Since(start))
	for _, query := range []string{"", "e", "serv", "shan17", "pkg3/comp/handler", "zzzz",
		"component7 handler1234"} {
		b.Run("query="+query, func(b *testing.B) {
			for b.Loop() {
				x.Find(context.Background(), query, 50, nil)
			}
		})
	}
}
