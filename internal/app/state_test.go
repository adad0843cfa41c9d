package app

import (
	"os"
	"path/filepath"
	"testing"
)

// Checking whether the state directory is writable leaves no files behind. The session script
// sessions/read-only covers a directory that is not writable.
func TestLookingAtTheStateLeavesNothing(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{home, filepath.Join(home, "not", "yet"),
		filepath.Join(home, "file", "below")} {
		if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, why := writableState(dir); got != dir || why != nil {
			t.Errorf("%s: %s, %v", dir, got, why)
		}
		if left, err := os.ReadDir(home); err != nil || len(left) != 1 {
			t.Errorf("%s: left %v, %v", dir, left, err)
		}
	}
	if os.Geteuid() <= 0 {
		return // root, and any user on Windows, can write to every folder
	}
	defer os.Chmod(home, 0o700)
	if err := os.Chmod(home, 0o500); err != nil {
		t.Fatal(err)
	}
	own, why := writableState(filepath.Join(home, "not", "yet"))
	if why == nil || own == filepath.Join(home, "not", "yet") {
		t.Errorf("a folder that is not writable: %s, %v", own, why)
	}
	_ = os.Remove(own)
}
