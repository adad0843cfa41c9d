package config

import (
	"io/fs"
	"syscall"
	"time"
)

func identity(info fs.FileInfo) (changed time.Time, id uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, 0
	}
	return time.Unix(st.Ctimespec.Unix()), st.Ino
}
