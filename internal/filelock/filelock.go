// Package filelock prevents several processes from writing a file at the same time.
package filelock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// limit is the maximum time that With waits for the lock. The process that holds the lock
	// releases it quickly, unless that process was suspended.
	limit = 2 * time.Second
	// every is the interval at which With checks whether the lock is free.
	every = 2 * time.Millisecond
)

// With runs f while no other call of With for path is running in any process. f may read the file,
// change its content and replace the file. The lock is on a separate file next to path. With
// creates the folder if it does not exist.
func With(path string, f func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := wait(lock); err != nil {
		return err
	}
	// Unlock explicitly, because a child process that is being started keeps the file open briefly.
	defer func() { _ = Unlock(lock) }()
	return f()
}

// Replace atomically replaces a file with one that only the user can read.
func Replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // creates the file with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// ReadMap reads a file that contains a JSON object. If the file does not exist or contains null,
// the map is empty.
func ReadMap[V any](path string) (map[string]V, error) {
	var m map[string]V
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if m == nil {
		m = map[string]V{}
	}
	return m, nil
}

func wait(lock *os.File) error {
	for end := time.Now().Add(limit); ; time.Sleep(every) {
		switch taken, err := Try(lock); {
		case err != nil:
			return fmt.Errorf("locking %s: %w", lock.Name(), err)
		case taken:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("another process has held the lock of %s for %v", lock.Name(), limit)
		}
	}
}
