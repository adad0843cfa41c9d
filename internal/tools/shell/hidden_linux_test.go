package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSandboxesOfAHiddenDaemon runs tests with every kind of sandbox in a process whose memory is
// hidden, like that of the daemon. The kernel lets such a process create user namespaces only if it
// runs as root.
func TestSandboxesOfAHiddenDaemon(t *testing.T) {
	t.Parallel()
	if os.Getenv(hiddenVar) != "" {
		t.Skip("this is the hidden process")
	}
	boxes(t)
	dir, err := os.MkdirTemp("/var/tmp", "agent-lsp-hidden-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	exe := filepath.Join(dir, "test")
	if out, err := exec.Command("cp", os.Args[0], exe).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	tests := []string{
		"TestSandboxDropsCapabilities", "TestSandboxedProcessesCannotReachTheSupervisor",
	}
	c := exec.Command(exe, "-test.v", "-test.run", "^("+strings.Join(tests, "|")+")$")
	c.Dir = dir
	c.Env = []string{hiddenVar + "=1", "CI=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if os.Getuid() == 0 {
		const user = 12346 // not the owner of the test files
		if err := os.Chown(dir, user, user); err != nil {
			t.Fatal(err)
		}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	for _, name := range tests {
		if !strings.Contains(string(out), "--- PASS: "+name) {
			t.Errorf("%s did not pass:\n%s", name, out)
		}
	}
}
