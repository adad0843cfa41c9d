package main

import (
	"errors"
	"os"
	"syscall"
)

// writableState returns the state directory, or, where nothing can be written there, a folder of this run's own and why.
func writableState(dir string) (string, error) {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = tryWriting(dir)
	}
	if !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return dir, nil // what else is wrong is told by whoever meets it
	}
	own, failed := os.MkdirTemp("", "agent-lsp-state-")
	if failed != nil {
		return dir, nil
	}
	return own, err
}

func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
