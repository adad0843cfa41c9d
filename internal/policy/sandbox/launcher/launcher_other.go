//go:build !linux || (!amd64 && !arm64)

package launcher

import (
	"errors"
	"os/exec"
	"syscall"
)

// MaybeRun does nothing, because agent-lsp's own sandbox does not support this system.
func MaybeRun() {}

// Attr does nothing, because agent-lsp's own sandbox does not support this system.
func Attr(*syscall.SysProcAttr) {}

// Nest does nothing: on this system, a process with hidden memory starts nothing in user
// namespaces.
func Nest(*exec.Cmd, string) error { return nil }

// Probe returns the reason why agent-lsp's own sandbox does not support this system.
func Probe(string) error {
	return errors.New("agent-lsp's own sandbox needs Linux on amd64 or arm64")
}

// Prepared is not supported on this system.
type Prepared struct{}

// Prepare returns the reason why agent-lsp's own sandbox does not support this system.
func Prepare([]string, []string) (*Prepared, error) { return nil, Probe("") }

// Start returns false without running the command.
func (*Prepared) Start([]string, Start, int) (pid int, ok bool) { return 0, false }

// Wait returns false without waiting.
func (*Prepared) Wait() (code int, ok bool) { return 0, false }

// Discard does nothing.
func (*Prepared) Discard() {}

// Release does nothing.
func (*Prepared) Release() {}
