package shell

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

func adopt() error { return nil }

func sweep() {}

// helperAttr passes the pipes as inherited handles, whose numbers are in the arguments.
func helperAttr(cmd *exec.Cmd, _ *sandbox.Plan, control, status *os.File) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP,
		HideWindow: true}
	for _, f := range []*os.File{control, status} {
		h := f.Fd()
		_ = windows.SetHandleInformation(windows.Handle(h), windows.HANDLE_FLAG_INHERIT,
			windows.HANDLE_FLAG_INHERIT)
		attr := cmd.SysProcAttr
		attr.AdditionalInheritedHandles = append(attr.AdditionalInheritedHandles, syscall.Handle(h))
		cmd.Args = append(cmd.Args, strconv.FormatUint(uint64(h), 10))
	}
	return nil
}

// systemEnv returns the variables without which a Windows process cannot start.
func systemEnv() []string {
	return []string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
}
