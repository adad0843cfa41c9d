package shell

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// boxes returns all four kinds of sandbox (see docs/use/permissions.md). If this machine does not
// support all of them, it skips the test, or fails it in CI.
func boxes(t testing.TB) []sandbox.Support {
	t.Helper()
	all := sandbox.Kinds()
	if len(all) != 4 {
		missing := fmt.Sprintf("this machine has %+v; the test needs bubblewrap (make setup), user namespaces, mounts in them and Landlock", all)
		if os.Getenv("CI") == "" {
			t.Skip(missing)
		}
		t.Fatal(missing)
	}
	return all
}

// box is a workspace with a sandbox.
type box struct {
	t                      testing.TB
	r                      *Runner
	s                      sandbox.Support
	work, tmp, out, secret string
}

func newBox(t testing.TB, s sandbox.Support) *box {
	base, err := os.MkdirTemp("/var/tmp", "agent-lsp-box-") // bubblewrap replaces /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	b := &box{t: t, r: newRunner(t), s: s, work: base + "/work", tmp: base + "/tmp", out: base +
		"/out"}
	for _, d := range []string{b.work, b.out} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.secret = b.out + "/file"
	if err := os.WriteFile(b.secret, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *box) plan() *sandbox.Plan {
	b.t.Helper()
	p, err := b.s.Plan(sandbox.Spec{Writable: []string{b.work}, Tmp: b.tmp})
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *box) run(script string) Result {
	b.t.Helper()
	return b.runWith(b.plan(), script)
}

func (b *box) runWith(plan *sandbox.Plan, script string) Result {
	b.t.Helper()
	script = strings.NewReplacer("OUT", b.out, "WORK", b.work).Replace(script)
	return run(b.t, b.r, Command{Script: script, Dir: b.work, Sandbox: plan})
}

func TestSandboxLetsWorkHappen(t *testing.T) {
	for _, s := range boxes(t) {
		t.Run(string(s.Kind), func(t *testing.T) {
			b := newBox(t, s)
			res := b.run(`set -e; echo a > a; mkdir d; mv a d/b; cat d/b; rm -r d; echo t > ` +
				`"$TMPDIR/t"; cat "$TMPDIR/t"; cat OUT/file; echo x > /dev/null; pwd; id -u; ` +
				`diff <(echo 1) <(echo 1)`)
			if want := fmt.Sprintf("a\nt\nbefore%s\n%d\n", b.work,
				os.Getuid()); res.ExitCode != 0 || string(res.Head) != want {
				t.Errorf("exit code %d, got %q, want %q", res.ExitCode, res.Head, want)
			}
			if _, err := os.Stat(b.tmp + "/t"); err != nil {
				t.Errorf("the temporary folder was a different one: %v", err)
			}
		})
	}
}

// writes are attempts to change OUT from inside the sandbox. Each must fail and leave OUT
// unchanged.
var writes = []string{
	`echo x > OUT/file`, `echo x >> OUT/file`, `echo x > OUT/new`, `touch OUT/new`, `rm OUT/file`,
	`rm -rf OUT`, `mv OUT/file OUT/other`, `mv OUT/file WORK/file`, `mkdir OUT/d`,
	`ln -s /etc/passwd OUT/l`, `ln WORK OUT/l`, `echo x > WORK/f && mv WORK/f OUT/file`,
	`ln -s OUT/file WORK/l && echo x > WORK/l`, `ln -s OUT WORK/d && echo x > WORK/d/file`,
	`cd OUT && echo x > file`, `echo x > WORK/../out/file`, `truncate -s 0 OUT/file`,
	`cp /etc/hostname OUT/file`, `dd if=/dev/zero of=OUT/file count=1`, `mkfifo OUT/p`,
	`sh -c 'echo x > OUT/file'`, `setsid sh -c 'echo x > OUT/file'`,
	`(setsid nohup sh -c 'echo x > OUT/file' &); sleep 0.3; false`,
	`env -i /bin/sh -c 'echo x > OUT/file'`,
	`echo x > /proc/self/root/OUT/file`, `exec 9>OUT/file`,
	`ln OUT/file WORK/hard && echo x > WORK/hard`, `find OUT -name file -delete`,
	`tee OUT/file < /dev/null`, `perl -e 'unlink("OUT/file") or exit 1'`,
	`mount -t tmpfs none OUT`, `mount --bind WORK OUT && echo x > OUT/file`,
	`unshare -Urm sh -c 'mount --bind WORK OUT; echo x > OUT/file'`,
	`umount OUT; mount -o remount,rw / ; echo x > OUT/file`,
}

func TestSandboxKeepsWritesIn(t *testing.T) {
	for _, s := range boxes(t) {
		t.Run(string(s.Kind), func(t *testing.T) {
			t.Parallel()
			b := newBox(t, s)
			for _, w := range writes {
				_ = os.RemoveAll(b.work)
				if err := os.Mkdir(b.work, 0o755); err != nil {
					t.Fatal(err)
				}
				res := b.run(w)
				entries, err := os.ReadDir(b.out)
				content, _ := os.ReadFile(b.secret)
				if err != nil || len(entries) != 1 || string(content) != "before" {
					t.Errorf("%s: outside is now %v %q (%v), output %q", w, entries, content, err,
						res.Head)
				}
			}
		})
	}
}

func TestTheWritesOfTheTestWorkWithoutASandbox(t *testing.T) {
	b := newBox(t, sandbox.Support{})
	run(t, b.r, Command{Script: "echo x > " + b.secret, Dir: b.work})
	if content, _ := os.ReadFile(b.secret); string(content) != "x\n" {
		t.Errorf("got %q: the test of writes checks nothing", content)
	}
}

func TestAStoppedCommandSaysSo(t *testing.T) {
	for _, s := range boxes(t) {
		res := newBox(t, s).run(`echo x > OUT/file`)
		if res.ExitCode == 0 || !strings.Contains(res.SandboxDenied,
			"a write outside the workspace") {
			t.Errorf("%s: got %+v", s.Kind, res)
		}
		if res := newBox(t, s).run("exit 3"); res.SandboxDenied != "" {
			t.Errorf("%s: the sandbox is blamed for an ordinary failure: %q",
				s.Kind, res.SandboxDenied)
		}
	}
}

// TestSandboxKeepsTheNetworkOut checks that a command in a sandbox reaches no server on this
// machine with any kind of socket.
func TestSandboxKeepsTheNetworkOut(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	abstract, err := net.Listen("unix", "@agent-lsp-test-"+filepath.Base(t.TempDir())+
		fmt.Sprint(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	_, udpPort, _ := net.SplitHostPort(udp.LocalAddr().String())
	probes := map[string]string{
		"tcp":      "tcp 127.0.0.1:" + port,
		"udp":      "udp 127.0.0.1:" + udpPort,
		"abstract": "unix " + abstract.Addr().String(),
		"bind":     "listen 127.0.0.1:0",
		"raw":      "raw",
		"packet":   "packet",
	}
	// These operations are allowed in a separate network namespace.
	own := map[string]bool{"bind": true, "raw": true, "packet": true}
	for _, s := range boxes(t) {
		b := newBox(t, s)
		for name, probe := range probes {
			if s.Kind != sandbox.Landlock && own[name] {
				continue
			}
			if res := b.probe(probe, b.plan()); res.ExitCode != 9 {
				t.Errorf("%s: %s was possible: exit code %d, %q", s.Kind, probe, res.ExitCode,
					res.Head)
			}
		}
	}
	b := newBox(t, sandbox.Support{})
	for name, probe := range probes {
		if os.Getuid() != 0 && (name == "raw" || name == "packet") {
			continue
		}
		if res := b.probe(probe, nil); res.ExitCode != 0 {
			t.Errorf("without a sandbox %s fails: %q; the test checks nothing", probe, res.Head)
		}
	}
}

// probe runs this binary as a socket client.
func (b *box) probe(what string, plan *sandbox.Plan) Result {
	b.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	// The test binary may be in /tmp, which is not visible in the sandbox.
	copied := filepath.Join(b.work, "probe")
	if _, err := os.Stat(copied); err != nil {
		// No other goroutine may fork while the file is open, not even to start a helper in
		// advance. A forked child would keep the copy open for writing until it executes its
		// program, and a file that is open for writing cannot be executed.
		syscall.ForkLock.RLock()
		data, err := os.ReadFile(exe)
		if err == nil {
			err = os.WriteFile(copied, data, 0o755)
		}
		syscall.ForkLock.RUnlock()
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return run(b.t, b.r, Command{Argv: []string{copied},
		Env: append(os.Environ(), probeVar+"="+what), Dir: b.work, Sandbox: plan})
}

// TestSandboxedProcessesCannotReachTheSupervisor checks that processes in the sandbox cannot kill
// the supervisor that must stop them.
func TestSandboxedProcessesCannotReachTheSupervisor(t *testing.T) {
	t.Parallel()
	for _, s := range boxes(t) {
		m := mark(&testing.T{})
		b := newBox(t, s)
		res := b.run("(setsid " + m + " &) ; sleep 0.1; kill -9 $PPID; echo alive; exit 7")
		if s.Kind != sandbox.Bubblewrap && (res.Lost || res.ExitCode != 7) {
			t.Errorf("%s: got %+v; want the supervisor alive", s.Kind, res)
		}
		noneLeft(t, m)
	}
}

func TestNoOrphansOutOfASandbox(t *testing.T) {
	t.Parallel()
	for _, s := range boxes(t) {
		for _, name := range []string{"double fork", "no marks", "main is gone"} {
			script := escapes[name]
			t.Run(string(s.Kind)+" "+name, func(t *testing.T) {
				t.Parallel()
				b, m := newBox(t, s), mark(t)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				res, err := b.r.Run(ctx, Command{Script: strings.ReplaceAll(script, "%s", m),
					Dir: b.work, Sandbox: b.plan(), Output: func([]byte) { cancel() }})
				if err != nil || !res.Aborted {
					t.Errorf("got %+v, %v", res, err)
				}
				noneLeft(t, m)
			})
		}
	}
}

func TestDetectNamesTheBest(t *testing.T) {
	boxes(t)
	if got := sandbox.Detect(); got.Kind != sandbox.Own || got.Why != "" {
		t.Errorf("got %+v", got)
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Error(err)
	}
}

func BenchmarkSandboxed(b *testing.B) {
	for _, s := range boxes(b) {
		b.Run(string(s.Kind), func(b *testing.B) {
			x := newBox(b, s)
			for b.Loop() {
				run(b, x.r, Command{Argv: []string{"/bin/true"}, Dir: x.work, Sandbox: x.plan()})
			}
		})
	}
}
