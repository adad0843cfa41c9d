//go:build unix

package search

import (
	"os"
	"syscall"
)

// rawFile is a file opened without the runtime's poller, because registering with the poller costs
// as much as reading a small file. It never blocks on a pipe.
type rawFile int

func openFile(path string) (rawFile, error) {
	for {
		fd, err := open(path, syscall.O_NONBLOCK)
		if err != syscall.EINTR {
			return rawFile(fd), err
		}
	}
}

// read returns 0 at the end of the file.
func (f rawFile) read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(f), p)
		if err == syscall.EINTR {
			continue
		}
		return max(n, 0), err
	}
}

func (f rawFile) close() { syscall.Close(int(f)) }

// openFolder opens only folders, because opening a pipe would wait for a writer.
func openFolder(path string) (*os.File, error) {
	fd, err := open(path, syscall.O_DIRECTORY)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
