package app

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// writableState returns the state directory. If it is not writable, writableState returns a
// temporary folder for this run and the reason. It does not create the state directory. If the
// directory does not exist yet, writableState checks the nearest existing parent.
func writableState(dir string) (string, error) {
	err := tryWriting(standing(dir))
	if !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return dir, nil // other errors are reported by the code that needs the directory
	}
	own, failed := os.MkdirTemp("", "agent-lsp-state-")
	if failed != nil {
		return dir, nil
	}
	return own, err
}

// standing returns the nearest existing folder at or above dir.
func standing(dir string) string {
	for {
		info, err := os.Stat(dir)
		if above := filepath.Dir(dir); (err != nil || !info.IsDir()) && above != dir {
			dir = above
			continue
		}
		return dir
	}
}

func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, ".agent-lsp-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
