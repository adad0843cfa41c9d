package shell

import (
	"os"

	"golang.org/x/sys/unix"
)

// isFirstThread reports whether the calling thread is the first thread of the process, through
// which the process receives signals.
func isFirstThread() bool { return unix.Gettid() == os.Getpid() }
