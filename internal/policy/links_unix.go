//go:build unix

package policy

import (
	"io/fs"
	"syscall"
)

// hardLinks returns the number of names that a file has, or 0 if the number is unknown.
func hardLinks(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 0
}
