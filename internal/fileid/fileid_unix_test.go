//go:build unix

package fileid_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/fileid"
)

// The time of the last change does not go back if a program sets an older modification time.
// Another file that takes the same name has a different ID.
func TestOf(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	write(t, name)
	old := fileid.Of(stat(t, name))
	if old.Inode == 0 || old.Device == 0 || time.Since(old.Changed) > time.Minute {
		t.Errorf("%+v", old)
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(name, past, past); err != nil {
		t.Fatal(err)
	}
	if id := fileid.Of(stat(t, name)); id.Inode != old.Inode || id.Changed.Before(old.Changed) {
		t.Errorf("after an older modification time: %+v, was %+v", id, old)
	}
	other := name + "2"
	write(t, other)
	if err := os.Rename(other, name); err != nil {
		t.Fatal(err)
	}
	if id := fileid.Of(stat(t, name)); id.Inode == old.Inode || id.Device != old.Device {
		t.Errorf("another file with the same name: %+v, was %+v", id, old)
	}
}

func write(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func stat(t *testing.T, name string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
