//go:build !linux

package environ

import "os"

// Self returns the path with which this process starts itself again.
func Self() (string, error) { return os.Executable() }
