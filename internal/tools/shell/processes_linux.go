package shell

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// becomeSubreaper makes orphans below this process its children. It fails under a user-mode
// emulator, which does not support the call.
var becomeSubreaper = sync.OnceValue(func() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the subreaper: %w", err)
	}
	return nil
})

// signalGroup signals the processes that left the tree by a double fork but stayed in the group.
// They are not descendants if this process could not become the subreaper.
func signalGroup(group int, kill bool) {
	if becomeSubreaper() == nil {
		return
	}
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-group, sig)
}

func dup2(from, to int) error { return unix.Dup3(from, to, 0) }

// process is a line of the process table.
type process struct {
	pid, parent, session int
	zombie               bool
}

// processes reads the process table. Processes that end while it reads are skipped.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []process
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if p, ok := readProcess(name); ok {
			out = append(out, p)
		}
	}
	return out
}

// readProcess parses /proc/PID/stat. The name in parentheses may contain any character.
func readProcess(name string) (process, bool) {
	b, err := os.ReadFile("/proc/" + name + "/stat")
	end := bytes.LastIndexByte(b, ')')
	if err != nil || end < 0 {
		return process{}, false
	}
	f := bytes.Fields(b[end+1:]) // state, ppid, pgrp, session
	if len(f) < 4 {
		return process{}, false
	}
	var p process
	p.pid, _ = strconv.Atoi(name)
	p.parent, _ = strconv.Atoi(string(f[1]))
	p.session, _ = strconv.Atoi(string(f[3]))
	p.zombie = f[0][0] == 'Z'
	return p, true
}

// sweepTime limits a sweep, because a process in the kernel may not die immediately.
const sweepTime = 2 * time.Second

// sweep ends the processes that a killed supervisor left. These processes became children of this
// process although it did not start them. Each command runs in its own session, while the processes
// that the daemon starts share the daemon's session. The session therefore distinguishes the two.
func sweep() {
	self := os.Getpid()
	own, _ := unix.Getsid(0)
	for end := time.Now().Add(sweepTime); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		table, left := processes(), 0
		for _, p := range table {
			if p.parent != self || p.session == own {
				continue
			}
			left++
			// Parents are killed first, because a shell would continue with its next command when
			// its child ends.
			for _, d := range append([]int{p.pid}, below(table, p.pid)...) {
				_ = syscall.Kill(d, syscall.SIGKILL)
			}
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}
		if left == 0 {
			return
		}
	}
}
