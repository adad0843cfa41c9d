package rpc

import (
	"testing"

	"github.com/creack/pty"
)

// A blocked read from a terminal ends when the input is closed, even if the user types nothing.
func TestReadingFromATerminalEnds(t *testing.T) {
	user, program, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
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
	user.Close() // closes the terminal, so that the goroutine that copies its output ends
}
