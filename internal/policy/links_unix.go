//go:build unix

package policy

import (
	"io/fs"
	"syscall"
)

// hardLinks is how many names a file has; 0 if unknown.
func hardLinks(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 0
}
