//go:build unix

package search

import "syscall"

// openFolder opens nothing but a folder: opening a pipe would wait for somebody to write to it.
const openFolder = syscall.O_DIRECTORY | syscall.O_NONBLOCK
