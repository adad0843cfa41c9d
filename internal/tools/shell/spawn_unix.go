//go:build !windows

package shell

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// adopt makes the daemon the parent of the processes that a killed supervisor leaves.
func adopt() error { return becomeSubreaper() }

// helperAttr passes the pipes and puts the supervisor in its own process group, so that a
// terminal's Ctrl-C reaches only the daemon. The supervisor stays in the daemon's session (see
// sweep).
func helperAttr(cmd *exec.Cmd, plan *sandbox.Plan, control, status *os.File) error {
	cmd.ExtraFiles = []*os.File{control, status}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return plan.Attr(cmd)
}

// systemEnv returns the part of the daemon's environment that a helper needs. It is empty, except
// in tests that count coverage.
func systemEnv() []string {
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		return []string{"GOCOVERDIR=" + dir}
	}
	return nil
}
