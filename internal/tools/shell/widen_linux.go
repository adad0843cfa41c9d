package shell

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is the pipe size with which a command with a lot of output can continue while the daemon
// is busy.
const pipeSize = 1 << 20

// widen makes a pipe larger if the system allows it.
func widen(f *os.File) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}
