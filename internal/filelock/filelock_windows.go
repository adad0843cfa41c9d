package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// offset is beyond the end of any file, so that the lock does not block readers.
const offset = 1 << 30

// Try acquires the lock of f if no other process has it. The system releases the lock when f is
// closed or the process dies.
func Try(f *os.File) (taken bool, err error) {
	o := &windows.Overlapped{OffsetHigh: offset}
	err = windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, o)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the lock that Try acquired.
func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0,
		&windows.Overlapped{OffsetHigh: offset})
}
