//go:build linux && (amd64 || arm64)

package launcher

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func (b *box) git(args ...string) {
	b.t.Helper()
	c := exec.Command("git", append([]string{"-C", b.work}, args...)...)
	c.Env = append(b.env, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := c.CombinedOutput(); err != nil {
		b.t.Fatalf("git %v: %v %s", args, err, out)
	}
}

// TestGitCannotWrite checks that git commands that write to .git fail with a reason, and that
// read-only git commands succeed.
func TestGitCannotWrite(t *testing.T) {
	b := newBox(t)
	b.write("a", "one\n")
	b.git("init", "-q", "-b", "main")
	b.git("add", ".")
	b.git("-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "-q", "-m", "first")
	b.write("a", "two\n")
	b.want("git status --short; git log --format=%s", " M a\nfirst\n")
	user := "-c user.name=u -c user.email=u@example.com"
	for _, refused := range []string{"add .", user + " commit -qam x", "config a.b c", "init sub"} {
		code, out := b.run("git " + refused)
		if code == 0 || !strings.Contains(out, "Read-only file system") {
			t.Errorf("git %s: exit code %d, %s", refused, code, out)
		}
	}
}

// homeCaches lists the existing package caches in a home folder.
func homeCaches(home string) []string {
	return existing(
		joined(
			home,
			[]string{".cache/go-build", ".cargo/git", ".cargo/registry", ".npm", "go/pkg/mod"},
		),
	)
}

// TestAsAnOrdinaryUser runs the tests in this package again without root privileges.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "agent-lsp-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const user = 12345
	for _, d := range []string{dir, dir + "/home", dir + "/tmp"} {
		_ = os.Mkdir(d, 0o755)
		if err := errors.Join(os.Chmod(d, 0o755), os.Chown(d, user, user)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/test", data, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(dir+"/test", "-test.v", "-test.skip", "TestAsAnOrdinaryUser")
	c.Dir = dir
	c.Env = []string{"HOME=" + dir + "/home", "TMPDIR=" + dir + "/tmp", "PATH=" + os.Getenv("PATH")}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: TestGitCannotWrite") {
		t.Errorf("the tests did not run:\n%s", out)
	}
}
