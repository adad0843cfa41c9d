package search

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestSearchesFollowNoLinks simulates a file or a folder that became a link after its path was
// resolved. The search must not follow the link.
func TestSearchesFollowNoLinks(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "key"), []byte("SECRET\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"file": filepath.Join(outside, "key"), "folder": outside,
	} {
		if err := os.Symlink(target, filepath.Join(work, name)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Compile(Pattern{Text: "SECRET"})
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"file", "folder", "folder/key"} {
		found, err := Grep(context.Background(), filepath.Join(work, root), Options{}, Query{
			Matcher: m, Limit: 10,
		})
		if err == nil && found.Matches > 0 {
			t.Errorf("%s: found %+v", root, found.Files)
		}
	}
}
