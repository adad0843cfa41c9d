//go:build !linux

package shell

// isFirstThread matters only if sandboxes apply per thread.
func isFirstThread() bool { return false }
