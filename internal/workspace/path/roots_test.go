package path

import (
	"os"
	"path/filepath"
	"testing"
)

// A root that becomes a link to another folder is no longer a root, even if no other folder is
// open. It stays a root while it leads to the same folder.
func TestAReplacedFolderIsNoRoot(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, sub, outside := top+"/main", top+"/main/a/sub", top+"/outside"
	for _, dir := range []string{sub, outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, open := range [][]string{{main, sub}, {sub}, {}} {
		r := NewRoots(sub, "")
		var uris []string
		for _, dir := range open {
			uris = append(uris, ToURI(dir))
		}
		r.Set(uris)
		before := len(r.For(sub))
		equal(t, "roots", before, max(1, len(open)))
		if err := os.Rename(main+"/a", main+"/old"); err != nil {
			t.Fatal(err)
		}
		equal(t, "roots without the folder", len(r.For(sub)), before)
		if err := os.Mkdir(main+"/a", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, sub); err != nil {
			t.Fatal(err)
		}
		r.Set(uris) // the client adds another folder
		for _, root := range r.For(sub) {
			equal(t, "a root", root.Real, main)
		}
		if at, err := r.Locate(sub, outside+"/x"); err == nil {
			_, err = at.Ref(false)
			equal(t, "the outside is refused", err != nil, true)
		}
		if err := os.RemoveAll(main + "/a"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(main+"/old", main+"/a"); err != nil {
			t.Fatal(err)
		}
		equal(t, "roots with the folder again", len(r.For(sub)), before)
	}
}
