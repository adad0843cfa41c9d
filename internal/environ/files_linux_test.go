package environ

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// isOpen runs in the child process. If its argument is a number, it prints "open" if the descriptor
// with that number is open, and ends the process.
func isOpen(number string) {
	fd, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
		os.Stdout.WriteString("open")
	}
	os.Exit(0)
}

func TestKeepFiles(t *testing.T) {
	fd, err := unix.Dup(0) // the copy does not have close-on-exec, like an inherited descriptor
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	inherits := func() bool {
		c := exec.Command(os.Args[0])
		c.Env = []string{child + "=" + strconv.Itoa(fd)}
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out) == "open"
	}
	if !inherits() {
		t.Fatal("the test's program inherits nothing")
	}
	if err := KeepFiles(); err != nil {
		t.Fatal(err)
	}
	if inherits() {
		t.Error("a program inherited the descriptor")
	}
}
