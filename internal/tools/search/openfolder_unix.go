//go:build unix

package search

import "syscall"

// openFolder opens only a folder: opening a pipe would wait until another process writes to it.
const openFolder = syscall.O_DIRECTORY | syscall.O_NONBLOCK
