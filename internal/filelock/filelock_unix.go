//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try acquires the lock of f if no other process has it. The system releases the lock when f is
// closed or the process dies.
func Try(f *os.File) (taken bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return false, nil
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK):
		return true, nil // no locks on this file system, so write without one
	}
	return err == nil, err
}

// Unlock releases the lock that Try acquired.
func Unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
