//go:build amd64 || arm64

package launcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// nestArg is the hidden first argument with which this binary starts a program in namespaces.
const nestArg = "__sandbox-nest"

// nested describes how to start a program. It is passed as JSON.
type nested struct {
	Path  string    `json:"path"`
	Argv  []string  `json:"argv"`
	Flags uintptr   `json:"flags"` // flags of clone(2)
	Caps  []uintptr `json:"caps,omitempty"`
	Files int       `json:"files"` // number of descriptors that the program inherits, starting at 0
}

// Nest changes a command that is started in a user namespace so that it works from a process whose
// memory is hidden. The kernel does not let such a process write the user mapping of the namespace,
// except if root runs it. A process of exe, this program's binary, therefore starts the command.
// That process and the command each end when the other one ends.
func Nest(c *exec.Cmd, exe string) error {
	a := c.SysProcAttr
	if a.Cloneflags&syscall.CLONE_NEWUSER == 0 || os.Geteuid() == 0 {
		return nil
	}
	shown, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || shown == 1 {
		return err
	}
	line, err := json.Marshal(nested{
		Path: c.Path, Argv: c.Args, Flags: a.Cloneflags, Caps: a.AmbientCaps,
		Files: 3 + len(c.ExtraFiles),
	})
	if err != nil {
		return fmt.Errorf("encoding the start in namespaces: %w", err)
	}
	c.Path, c.Args = exe, []string{exe, nestArg, string(line)}
	a.Cloneflags, a.AmbientCaps, a.UidMappings, a.GidMappings = 0, nil, nil, nil
	return nil
}

func init() {
	if len(os.Args) == 3 && os.Args[1] == nestArg {
		exit(startNested(os.Args[2]))
	}
}

// startNested starts the program and returns its exit code.
func startNested(line string) int {
	runtime.LockOSThread() // the program dies with this thread
	var n nested
	if err := json.Unmarshal([]byte(line), &n); err != nil {
		fmt.Fprintln(os.Stderr, "agent-lsp: this argument is for internal use:", err)
		return exitFailed
	}
	files := make([]uintptr, n.Files)
	for i := range files {
		files[i] = uintptr(i)
	}
	attr := &syscall.SysProcAttr{
		Cloneflags:  n.Flags,
		AmbientCaps: n.Caps,
		UidMappings: []syscall.SysProcIDMap{
			{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1},
		},
		GidMappings: []syscall.SysProcIDMap{
			{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1},
		},
		// In a new process namespace, the program has no parent, so package syscall believes that
		// the parent is dead. The kernel ignores the signal that package syscall then sends to
		// process 1.
		Pdeathsig: syscall.SIGKILL,
	}
	pid, err := syscall.ForkExec(
		n.Path,
		n.Argv,
		&syscall.ProcAttr{Env: os.Environ(), Files: files, Sys: attr},
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent-lsp: starting", n.Path, "in namespaces:", err)
		return exitFailed
	}
	for _, fd := range files { // readers must reach the end of the data when the program ends
		unix.Close(int(fd))
	}
	for {
		var ws syscall.WaitStatus
		_, err := syscall.Wait4(pid, &ws, 0, nil)
		switch {
		case err == nil:
			return exitCode(ws)
		case !errors.Is(err, syscall.EINTR):
			return exitFailed
		}
	}
}
