//go:build unix

package rpc

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Unblocked returns f in a form whose blocked Read or Write ends when it is closed. It changes only
// pipes and sockets, because the mode of a terminal or file is shared with others.
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

// UnblockedInput is Unblocked for input, including terminals: a pipe passes their bytes on. The
// goroutine that copies them ends with the terminal or with the process.
func UnblockedInput(f *os.File) *os.File {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return Unblocked(f)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return f
	}
	go func() {
		_, _ = io.Copy(w, f)
		w.Close()
	}()
	return r
}
