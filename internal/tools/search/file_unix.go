//go:build unix

package search

import "syscall"

// rawFile is a file opened without the runtime's poller, which costs as much as reading
// a small file. It never blocks on a pipe.
type rawFile int

func openFile(path string) (rawFile, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
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
