package proxy

import (
	"errors"
	"net"
)

var errNone = errors.New("this system has no sandbox that the proxy could serve")

func listenUnix(string) (*net.UnixListener, error) { return nil, errNone }

func receive(*net.UnixConn) (string, net.Listener, error) { return "", nil, errNone }
