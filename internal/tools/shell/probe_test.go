package shell

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// probeVar is the environment variable that says which kind of socket this test binary tries to
// use.
const probeVar = "SHELL_TEST_PROBE"

// maybeProbe tries to use a socket. It exits with 0 if that works, and with 9 if it does not.
func maybeProbe() {
	what := os.Getenv(probeVar)
	if what == "" {
		return
	}
	if err := probe(what); err != nil {
		fmt.Println(err)
		os.Exit(9)
	}
	os.Exit(0)
}

func probe(what string) error {
	kind, addr, _ := strings.Cut(what, " ")
	switch kind {
	case "listen":
		l, err := net.Listen("tcp", addr)
		if err == nil {
			l.Close()
		}
		return err
	case "raw":
		_, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_RAW, 1) // ICMP
		return err
	case "packet":
		_, err := syscall.Socket(17, syscall.SOCK_RAW, 0x0300) // AF_PACKET, all protocols
		return err
	}
	c, err := net.DialTimeout(kind, addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if kind != "udp" {
		return nil
	}
	// UDP has no connections, so only a response or a returned error proves the result.
	for range 3 {
		if _, err = c.Write([]byte("x")); err != nil {
			return err
		}
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err = c.Read(make([]byte, 1)); err != nil && !os.IsTimeout(err) {
			return err
		}
	}
	return nil
}
