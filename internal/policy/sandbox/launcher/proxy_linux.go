package launcher

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// DialProxy connects to the Unix socket of the daemon's proxy. The path may be longer than a socket
// address allows.
func DialProxy(socket string) (int, error) {
	dir, err := unix.Open(filepath.Dir(socket), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("reaching the proxy: %w", err)
	}
	defer unix.Close(dir)
	conn, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("reaching the proxy: %w", err)
	}
	name := fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(socket))
	if err := unix.Connect(conn, &unix.SockaddrUnix{Name: name}); err != nil {
		unix.Close(conn)
		return -1, fmt.Errorf("reaching the proxy: %w", err)
	}
	return conn, nil
}

// OfferProxy gives the proxy a listener on loopback of this process's network namespace. A socket
// belongs to the namespace in which it was created, so the proxy accepts connections from this
// namespace, and no process has to forward data. The connection stays open until the sandbox ends,
// so the proxy detects the end of the sandbox when the connection closes.
func OfferProxy(conn int, token string) error {
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("passing a listener to the proxy: %w", err)
	}
	defer unix.Close(l)
	addr := &unix.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Bind(l, addr); err != nil {
		return fmt.Errorf("passing a listener to the proxy: %w", err)
	}
	if err := unix.Listen(l, unix.SOMAXCONN); err != nil {
		return fmt.Errorf("passing a listener to the proxy: %w", err)
	}
	if err := unix.Sendmsg(conn, []byte(token), unix.UnixRights(l), nil, 0); err != nil {
		return fmt.Errorf("passing a listener to the proxy: %w", err)
	}
	return nil
}

func init() { maybeOffer() }

// maybeOffer offers the proxy a listener and becomes the command, if the process was started by
// OfferPrefix.
func maybeOffer() {
	if len(os.Args) < 4 || os.Args[1] != offerArg || os.Args[2] != "--" {
		return
	}
	env, token := takeToken(os.Environ())
	if err := OfferProxy(OfferFD, token); err != nil {
		fmt.Fprintln(os.Stderr, "agent-lsp: creating the sandbox:", err)
		syscall.Exit(exitFailed)
	}
	unix.CloseOnExec(OfferFD) // the supervisor keeps the connection
	path, err := lookPath(os.Args[3], env)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent-lsp: starting", os.Args[3], "in the sandbox:", err)
		syscall.Exit(exitNotFound)
	}
	err = syscall.Exec(path, os.Args[3:], env)
	fmt.Fprintln(os.Stderr, "agent-lsp: starting", path, "in the sandbox:", err)
	syscall.Exit(exitNotRunning)
}

// lookPath finds a program in the PATH of an environment.
func lookPath(name string, env []string) (string, error) {
	os.Unsetenv("PATH")
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			os.Setenv("PATH", v)
		}
	}
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", errors.New("no such program on PATH")
	}
	return path, nil
}

// takeToken returns an environment without the command's token, and the token.
func takeToken(env []string) (rest []string, token string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, TokenVar+"="); ok {
			token = v
		} else {
			rest = append(rest, kv)
		}
	}
	return rest, token
}
