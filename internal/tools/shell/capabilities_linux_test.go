package shell

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// TestSandboxDropsCapabilities checks every capability set and no_new_privs as seen by the command,
// and tries the operations that capabilities would allow.
func TestSandboxDropsCapabilities(t *testing.T) {
	t.Parallel()
	victim := exec.Command("sleep", "600")
	victim.Env = []string{"VICTIM_TOKEN=not-for-commands"}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	environ := fmt.Sprintf("/proc/%d/environ", victim.Process.Pid)
	for _, s := range boxes(t) {
		b := newBox(t, s)
		res := b.run("cat /proc/self/status")
		want := []string{"CapInh", "CapPrm", "CapEff", "CapAmb"}
		// Only root may clear the bounding set. bubblewrap needs its own set until it starts the
		// command, and does not clear it. Because of no_new_privs, the command gains nothing from
		// this set.
		if os.Getuid() == 0 && s.Kind != sandbox.Bubblewrap {
			want = append(want, "CapBnd")
		}
		for _, name := range want {
			if !strings.Contains(string(res.Head), name+":\t0000000000000000\n") {
				t.Errorf("%s: %s is not empty:\n%s", s.Kind, name, res.Head)
			}
		}
		if !strings.Contains(string(res.Head), "NoNewPrivs:\t1\n") {
			t.Errorf("%s: no_new_privs is not set", s.Kind)
		}
		if os.Getuid() == 0 { // ordinary users may read the environment of their own processes
			if res := b.run("cat " + environ); strings.Contains(string(res.Head),
				"not-for-commands") {
				t.Errorf("%s: the command read the environment of another process", s.Kind)
			}
		}
		for _, script := range []string{
			"mknod WORK/disk b 8 0", "mknod WORK/mem c 1 1", "chown 12345 WORK/owned",
			"unshare -m true", "chroot / true",
		} {
			b.run("touch WORK/owned")
			if res := b.run(script); res.ExitCode == 0 {
				t.Errorf("%s: %s succeeded", s.Kind, script)
			}
		}
	}
	if content, err := os.ReadFile(environ); err != nil ||
		!strings.Contains(string(content), "not-for-commands") {
		t.Errorf("without a sandbox the environment cannot be read either (%v), so the test checks nothing",
			err)
	}
}
