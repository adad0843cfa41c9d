//go:build !windows && !linux

package shell

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeSubreaper does nothing because these systems have no subreaper. A process that forks twice
// and leaves its group is found only while its parent lives.
func becomeSubreaper() error { return nil }

// signalGroup signals the processes that left the tree by a double fork but stayed in the group.
func signalGroup(group int, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-group, sig)
}

func dup2(from, to int) error { return unix.Dup2(from, to) }

type process struct {
	pid, parent int
	zombie      bool
}

func sweep() {}
