//go:build unix

package rpc

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Unblocked returns a copy of f whose Close unblocks a blocked Read or Write. It copies only pipes
// and sockets, and returns other files unchanged: a terminal or regular file shares its blocking
// mode with other processes.
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

// UnblockedInput is like Unblocked, but also handles terminals, by copying their input to a pipe.
// The goroutine that copies the input ends when the terminal or the process does.
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
