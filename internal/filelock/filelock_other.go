//go:build !unix && !windows

package filelock

import "os"

// Try does nothing, because this system has no locks.
func Try(*os.File) (taken bool, err error) { return true, nil }

// Unlock does nothing.
func Unlock(*os.File) error { return nil }
