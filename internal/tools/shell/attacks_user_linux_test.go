package shell

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// strideVar is the environment variable that makes TestAttacks run only every n-th attack.
const strideVar = "AGENT_LSP_TEST_ATTACK_STRIDE"

// TestAttacksAsAnOrdinaryUser runs every third attack (every sixteenth in a short run) again
// without root privileges, because user namespaces, masks and the broker work differently for root.
func TestAttacksAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("TestAttacks already runs as an ordinary user")
	}
	boxes(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "agent-lsp-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	here := dir + "/internal/tools/shell"
	copies := map[string]string{
		exe: here + "/test", "../../../testdata/attacks": dir + "/testdata/attacks",
	}
	for from, to := range copies {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-r", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	const user = 12345
	err = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, user, user), os.Chmod(path, 0o755))
	})
	if err != nil {
		t.Fatal(err)
	}
	stride := "16"
	if testspeed.Heavy(1) {
		stride = "3"
	}
	c := exec.Command(here+"/test", "-test.v", "-test.run", "^TestAttacks$")
	c.Dir = here
	c.Env = append(os.Environ(), "HOME="+dir, "TMPDIR=", "CI=1", strideVar+"="+stride)
	c.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, Credential: &syscall.Credential{Uid: user, Gid: user},
	}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestAttacks") {
		t.Errorf("%v:\n%s", err, out)
	}
}
