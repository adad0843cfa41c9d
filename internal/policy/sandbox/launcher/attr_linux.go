//go:build amd64 || arm64

package launcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Attr adds the namespaces to the attributes with which the launcher's process is started. Its user
// and group keep their IDs. No other user or group is mapped.
func Attr(a *syscall.SysProcAttr) {
	a.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
		syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	// Without this, only root keeps its capabilities when a program starts. The launcher drops
	// them.
	a.AmbientCaps = []uintptr{
		unix.CAP_SYS_ADMIN,
		unix.CAP_NET_ADMIN,
		unix.CAP_SETPCAP,
		unix.CAP_DAC_OVERRIDE,
	}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
}

// probeTimeout bounds the probe's process.
const probeTimeout = 10 * time.Second

// Probe runs a command in a sandbox with write access, and returns the error if that fails on this
// system. exe is this program's binary.
func Probe(exe string) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "agent-lsp-probe-")
	if err != nil {
		return fmt.Errorf("probing the sandbox: %w", err)
	}
	defer os.RemoveAll(dir)
	args, err := Spec{
		Roots: []string{dir},
		Write: true,
	}.Args(
		exe,
		[]string{"/bin/sh", "-c", "echo yes > probe && ! echo no > .envrc"},
	)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir, c.SysProcAttr = dir, &syscall.SysProcAttr{}
	// The environment of this process may contain keys.
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	Attr(c.SysProcAttr)
	if err := Nest(c, exe); err != nil {
		return err
	}
	out, err := c.CombinedOutput()
	if err != nil {
		line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		return errors.New(
			strings.TrimSpace(
				"namespaces are not allowed here: " + err.Error() + " " + string(line),
			),
		)
	}
	return nil
}
