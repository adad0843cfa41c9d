//go:build !windows

package proxy

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxToken is longer than any token.
const maxToken = 256

// listenUnix opens a Unix socket that only this user can connect to, because only this user can
// enter its folder. If the path is too long for a socket address, listenUnix reaches it through a
// descriptor of its folder.
func listenUnix(path string) (*net.UnixListener, error) {
	const longest = 100
	if len(path) > longest {
		dir, err := os.Open(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		path = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the folder is removed, and the path may name a closed descriptor
	return l, nil
}

// receive reads a token and the listener that is sent with it. It returns nil if the sandbox ends
// first.
func receive(conn *net.UnixConn) (token string, l net.Listener, err error) {
	b, oob := make([]byte, maxToken), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := conn.ReadMsgUnix(b, oob)
	if err != nil || n == 0 {
		return "", nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return "", nil, fmt.Errorf("%d control messages: %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return "", nil, fmt.Errorf("%d descriptors: %w", len(fds), err)
	}
	f := os.NewFile(uintptr(fds[0]), "listener")
	defer f.Close()
	if l, err = net.FileListener(f); err != nil {
		return "", nil, err
	}
	return string(b[:n]), l, nil
}
