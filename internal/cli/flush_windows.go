package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// flushInput discards the input of a terminal that has not been read.
func flushInput(f *os.File) {
	_ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd()))
}
