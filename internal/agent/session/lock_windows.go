package session

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset lies beyond any log, so that the lock keeps nobody from reading.
const lockOffset = 1 << 30

// lockFile takes the writer's lock without waiting; the system releases it when f is closed,
// also by the death of the process.
func lockFile(f *os.File) error {
	o := &windows.Overlapped{OffsetHigh: lockOffset}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, o)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

func unlockFile(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: lockOffset})
}
