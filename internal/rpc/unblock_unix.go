//go:build unix

package rpc

import (
	"os"

	"golang.org/x/sys/unix"
)

// Unblocked returns f in a form whose blocked Read or Write ends when it is closed. Only
// pipes and sockets are changed: a terminal's or file's mode is shared with others.
func Unblocked(f *os.File) *os.File {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil || unix.SetNonblock(fd, true) != nil {
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}
