package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// left lists the folders in base that belong to runs.
func left(t *testing.T, base string) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(base, "run-*"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func TestScratch(t *testing.T) {
	base := filepath.Join(t.TempDir(), "scratch")
	s := NewScratch(base)
	if _, err := os.Stat(base); err == nil {
		t.Error("an unused scratch created its folder")
	}
	folders := func(s *Scratch, session string) []string {
		t.Helper()
		tmp, layer, err := s.Folders(session)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{tmp, layer + "/work/inner"} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		// An overlay mount leaves its work folder without any permissions.
		if err := os.Chmod(layer+"/work", 0); err != nil {
			t.Fatal(err)
		}
		return []string{tmp, layer}
	}
	a, b := folders(s, "a"), folders(s, "a/../b")
	if err := s.Drop("a"); err != nil {
		t.Error(err)
	}
	for i, gone := range []bool{true, false} {
		for _, d := range [][]string{a, b}[i] {
			if _, err := os.Stat(d); (err != nil) != gone {
				t.Errorf("after a was dropped, %s: %v", d, err)
			}
		}
	}
	other := NewScratch(base)
	folders(other, "c")
	if n := len(left(t, base)); n != 2 {
		t.Errorf("%d folders of two running scratches", n)
	}
	other.lock.Close() // as if the process had died
	third := NewScratch(base)
	folders(third, "d")
	if n := len(left(t, base)); n != 2 {
		t.Errorf("%d folders, want the folder of the dead one removed", n)
	}
	for _, x := range []*Scratch{s, third, third} {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	if dirs := left(t, base); len(dirs) > 0 {
		t.Errorf("left behind: %q", dirs)
	}
}
