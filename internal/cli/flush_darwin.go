package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput discards the input of a terminal that has not been read.
func flushInput(f *os.File) {
	const input = 1 // FREAD in sys/fcntl.h
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, input)
}
