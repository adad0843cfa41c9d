//go:build unix

package shell

import (
	"os"
	"syscall"
	"time"
)

// maxRest is more than the capacity of a pipe. Without this limit, a process that keeps filling the
// pipe would prevent the read from ending.
const maxRest = 1 << 20

// rest reads, without waiting, the bytes that are still in a pipe whose deadline has passed. The
// deadline ends the wait for more data, but data that arrived before the deadline must still be
// read.
func rest(pipe *os.File, buf []byte, take func([]byte)) {
	raw, err := pipe.SyscallConn()
	if err != nil || pipe.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for left := maxRest; left > 0; {
		n := 0
		err := raw.Read(func(fd uintptr) bool { n = readOnce(int(fd), buf); return true })
		if err != nil || n <= 0 {
			return
		}
		take(buf[:n])
		left -= n
	}
}

// readOnce reads from a non-blocking descriptor. A result of 0 or less means that no data is
// available.
func readOnce(fd int, buf []byte) int {
	for {
		n, err := syscall.Read(fd, buf)
		if err != syscall.EINTR {
			return n
		}
	}
}
