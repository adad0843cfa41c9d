//go:build !linux

package shell

// isFirstThread always returns false, because sandboxes do not apply per thread on this system.
func isFirstThread() bool { return false }
