package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput discards the input of a terminal that has not been read.
func flushInput(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
