//go:build !linux

package shell

// isFirstThread matters only where walls are per thread.
func isFirstThread() bool { return false }
