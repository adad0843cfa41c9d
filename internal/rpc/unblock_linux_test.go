package rpc

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal; the program's end is blocking, as a standard input is.
func terminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(user.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	end, err := unix.Open(
		fmt.Sprintf("/dev/pts/%d", n),
		unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC,
		0,
	)
	if err != nil {
		t.Fatal(err)
	}
	return user, os.NewFile(uintptr(end), "stdin")
}

// Reading from a terminal ends when the input is closed, though nobody types.
func TestReadingFromATerminalEnds(t *testing.T) {
	user, program := terminal(t)
	in := UnblockedInput(program)
	if _, err := user.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := in.Read(b); err != nil || string(b[:n]) != "typed\n" {
		t.Fatalf("read %q, %v", b[:n], err)
	}
	read := make(chan error)
	go func() {
		_, err := in.Read(b)
		read <- err
	}()
	in.Close()
	if err := <-read; err == nil {
		t.Error("something was read")
	}
	user.Close() // the terminal goes, and with it who passes its bytes on
}
