package shell

import (
	"os"

	"golang.org/x/sys/unix"
)

// isFirstThread says whether the calling thread is the one that the process is signalled through.
func isFirstThread() bool { return unix.Gettid() == os.Getpid() }
