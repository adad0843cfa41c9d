//go:build unix

package policy

import (
	"io/fs"
	"syscall"
)

// hardLinks returns how many names a file has, or 0 if that is unknown.
func hardLinks(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 0
}
