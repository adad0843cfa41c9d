//go:build unix && !linux

package search

import "syscall"

// open opens a path whose last element is not a symbolic link.
func open(path string, flags int) (int, error) {
	return syscall.Open(path, flags|syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
}
