//go:build !windows

package shell

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handsOver reports whether an order can include the descriptor of the command's output. A socket
// can transfer descriptors.
const handsOver = true

// socketControl is the daemon's end of a socket pair.
type socketControl struct{ *net.UnixConn }

// newControl creates the control channel and returns the daemon's end and the supervisor's end.
func newControl() (orderPipe, *os.File, error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return socketControl{conn.(*net.UnixConn)}, theirs, nil
}

// send writes the order and passes the descriptor with its first bytes. The write does not block
// for long: the supervisor reads immediately, and the write fails if the supervisor has ended.
func (s socketControl) send(line []byte, output *os.File) error {
	var rights []byte
	if output != nil {
		rights = unix.UnixRights(int(output.Fd()))
	}
	n, _, err := s.WriteMsgUnix(line, rights, nil)
	if err == nil && n < len(line) {
		_, err = s.Write(line[n:])
	}
	return err
}
