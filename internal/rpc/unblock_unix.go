//go:build unix

package rpc

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Unblocked returns a file for f whose Close unblocks a blocked Read or Write. It changes only
// pipes and sockets, because other processes share the mode of a terminal or file.
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

// UnblockedInput is like Unblocked for input, but also handles terminals, whose bytes it passes on
// through a pipe. The goroutine that copies the bytes ends with the terminal or with the process.
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
