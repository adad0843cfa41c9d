//go:build !unix && !windows

package filelock

import "os"

// Try does nothing where the system has no locks.
func Try(*os.File) (taken bool, err error) { return true, nil }

// Unlock gives back what Try took.
func Unlock(*os.File) error { return nil }
