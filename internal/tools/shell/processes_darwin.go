package shell

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeSubreaper: this system has none; what forks twice and leaves its group is found only
// while its parent lives.
func becomeSubreaper() error { return nil }

// signalGroup reaches what left the tree by a double fork and stayed in its group.
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

const stateZombie = 5 // SZOMB in sys/proc.h

// processes reads the process table.
func processes() []process {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	out := make([]process, 0, len(list))
	for i := range list {
		k := &list[i]
		out = append(out, process{pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), zombie: k.Proc.P_stat == stateZombie})
	}
	return out
}

func sweep() {}
