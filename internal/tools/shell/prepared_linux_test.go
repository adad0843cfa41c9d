package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// ownBox creates a workspace with the daemon's own sandbox, which is the only kind that is prepared
// in advance.
func ownBox(t testing.TB) *box {
	t.Helper()
	for _, s := range boxes(t) {
		if s.Kind == sandbox.Own {
			return newBox(t, s)
		}
	}
	t.Fatal("this machine does not support agent-lsp's own sandbox")
	return nil
}

// prepare runs a command that does nothing, so that the next sandbox is prepared afterwards.
func (b *box) prepare(plan *sandbox.Plan) {
	b.t.Helper()
	run(b.t, b.r, Command{Argv: []string{"/bin/true"}, Dir: b.work, Sandbox: plan})
}

// prepareFor prepares the sandbox for a plan before its session runs the first command.
func prepareFor(t testing.TB, r *Runner, plan *sandbox.Plan) {
	t.Helper()
	h, err := r.makeHelper()
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(h)
	r.prepareSandbox(h, plan)
}

// ahead waits for a prepared sandbox, calls do, and then runs a command in that sandbox. On a busy
// machine this can take several attempts, because a command does not wait long for a sandbox.
func (b *box) ahead(plan *sandbox.Plan, do func(), c Command) Result {
	b.t.Helper()
	for range 50 {
		b.prepare(plan)
		b.waitPrepared()
		if do != nil {
			do()
		}
		c.Sandbox = plan
		if c.Dir == "" {
			c.Dir = b.work
		}
		if res := run(b.t, b.r, c); res.Prepared {
			return res
		}
	}
	b.t.Fatal("no command ran in a prepared sandbox")
	return Result{}
}

// waitPrepared waits until a sandbox for this workspace is ready. It is ready when a thread reads
// from the socket on which the command arrives.
func (b *box) waitPrepared() {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, pid := range b.waiting() {
			threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", pid))
			for _, f := range threads {
				if where, _ := os.ReadFile(f); strings.HasPrefix(string(where), "unix_stream") {
					return
				}
			}
		}
	}
	b.t.Error("no sandbox is waiting for its command")
}

// waiting lists the processes of prepared sandboxes for this workspace, including zombies.
func (b *box) waiting() (pids []int) {
	supervisors := map[int]bool{}
	b.r.mu.Lock()
	for h := range b.r.helpers {
		supervisors[h.cmd.Process.Pid] = true
	}
	b.r.mu.Unlock()
	for _, p := range processes() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		prepared := strings.Contains(string(line), "__sandbox-prepare") &&
			strings.Contains(string(line), b.work)
		if err == nil && (prepared || p.zombie && supervisors[p.parent]) {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// wantWaiting waits until n prepared sandboxes are waiting.
func (b *box) wantWaiting(n int, when string) {
	b.t.Helper()
	var got []int
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got = b.waiting(); len(got) == n {
			return
		}
	}
	b.t.Errorf("%s: the sandboxes %v are waiting, want %d", when, got, n)
}

// TestPreparedSandboxMasksWhatCameLater checks that a prepared sandbox masks all secret files that
// exist when the command starts, however they were created.
func TestPreparedSandboxMasksWhatCameLater(t *testing.T) {
	t.Parallel()
	for _, way := range []string{
		`echo CANARY > .env`,
		`mkdir -p sub/deep && echo CANARY > sub/deep/server.pem`,
		`echo CANARY > data && ln -s data .env`,
		`echo CANARY > .env && ln .env plain`,
		`echo CANARY > notes && mv notes id_rsa`,
		`mkdir ../moved && echo CANARY > ../moved/.env && mv ../moved sub`,
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := ownBox(t)
			plan := b.plan()
			res := b.ahead(plan, func() {
				clean := "rm -rf .env sub data plain notes id_rsa ../moved; "
				run(t, newRunner(t), Command{Script: clean + way, Dir: b.work})
			}, Command{Script: `grep -r CANARY . | grep -v denied; ls -A; echo x > .envrc`})
			out := string(res.Head)
			if strings.Contains(out, "CANARY") ||
				!strings.Contains(out, ".envrc: Read-only file system") {
				t.Errorf("got %q", out)
			}
			if len(strings.Fields(out)) < 3 {
				t.Errorf("got %q: the file did not exist, so the test checks nothing", out)
			}
		})
	}
}

// TestPreparedSandboxRunsTheCommandAsGiven checks that the environment, folder, exit code, output
// and program search are those of the command, and that the command inherits no other descriptors.
func TestPreparedSandboxRunsTheCommandAsGiven(t *testing.T) {
	t.Parallel()
	b := ownBox(t)
	for _, d := range []string{"sub", "bin"} {
		if err := os.Mkdir(filepath.Join(b.work, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := "#!/bin/sh\necho own program\n"
	if err := os.WriteFile(b.work+"/bin/own", []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	plan := b.plan()
	res := b.ahead(plan, nil, Command{
		Argv: []string{
			"bash",
			"-c",
			`env | sort | grep -v '^_=\|^SHLVL='; pwd; umask; own; for f in /proc/self/fd/*; do readlink $f; done | grep -c 'socket\|mnt:'; echo err >&2; exit 7`,
		},
		Dir: b.work + "/sub",
		Env: []string{"NAME=value", "PATH=" + b.work + "/bin:" + os.Getenv("PATH")},
	})
	umask := syscall.Umask(0o22)
	syscall.Umask(umask)
	want := fmt.Sprintf(
		"GIT_OPTIONAL_LOCKS=0\nNAME=value\nPATH=%s/bin:%s\nPWD=%s/sub\nTEMP=/tmp\nTMP=/tmp\nTMPDIR=/tmp\n"+
			"%s/sub\n%04o\nown program\n0\nerr\n",
		b.work,
		os.Getenv("PATH"),
		b.work,
		b.work,
		umask,
	)
	if string(res.Head) != want || res.ExitCode != 7 {
		t.Errorf("exit code %d, got\n%s\nwant\n%s", res.ExitCode, res.Head, want)
	}
	if res := b.ahead(plan, nil, Command{Script: "kill -9 $$"}); res.ExitCode != 137 {
		t.Errorf("got %+v", res)
	}
	if res := b.ahead(plan, nil, Command{Argv: []string{"no-such-program"}}); res.ExitCode != 127 {
		t.Errorf("got %+v", res)
	}
}

// TestPreparedSandboxIsNotUsedWhenItIsWrong checks that a command gets a new sandbox if a folder
// that the prepared one shows was replaced or created meanwhile.
func TestPreparedSandboxIsNotUsedWhenItIsWrong(t *testing.T) {
	t.Parallel()
	replace := `mv WORK WORK.old && mkdir WORK && echo CANARY > WORK/.env && echo new > WORK/file`
	for _, c := range []struct{ name, change, script, want string }{
		{"nothing changed", "true", "cat file", "old\n"},
		{
			"the root was replaced", replace,
			"cat file; cat .env 2>/dev/null || echo masked", "new\nmasked\n",
		},
		{
			"the root is a link now",
			`mv WORK WORK.old && mkdir OUT/real && echo new > OUT/real/file && ln -s OUT/real WORK`,
			"cat file", "agent-lsp: creating the sandbox: opening WORK for the sandbox: " +
				"too many levels of symbolic links\n",
		},
		{
			"a readable folder was replaced",
			"mv OUT/tool OUT/t2 && mkdir OUT/tool && echo new > OUT/tool/v", "cat OUT/tool/v",
			"new\n",
		},
		{
			"a readable folder came", "rm -r OUT/none; mkdir OUT/none && echo new > OUT/none/v",
			"cat OUT/none/v", "new\n",
		},
		{
			"a cache was replaced",
			"mv OUT/cache OUT/c2 && mkdir OUT/cache && echo new > OUT/cache/v",
			"cat OUT/cache/v", "new\n",
		},
		{
			"the temporary folder was replaced",
			"mv TMP TMP.old && mkdir TMP && echo new > TMP/v", "cat /tmp/v", "new\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := ownBox(t)
			names := strings.NewReplacer("WORK", b.work, "OUT", b.out, "TMP", b.tmp)
			script := func(s string) {
				run(t, newRunner(t), Command{Script: names.Replace(s), Dir: "/"})
			}
			script(
				"echo old > WORK/file; mkdir OUT/tool OUT/cache; echo old > OUT/tool/v; echo old > OUT/cache/v",
			)
			plan, err := b.s.Plan(sandbox.Spec{
				Writable: []string{b.work}, Tmp: b.tmp, Layer: b.out + "/layer",
				Readable: []string{b.out + "/tool"}, Caches: []string{b.out + "/cache"},
			})
			if err != nil {
				t.Fatal(err)
			}
			plan.Prefix[2] = strings.Replace(
				plan.Prefix[2],
				b.out+`/tool"`,
				b.out+`/tool","`+b.out+`/none"`,
				1,
			)
			b.prepare(plan)
			b.waitPrepared()
			script(c.change)
			res := run(
				t,
				b.r,
				Command{Script: names.Replace(c.script), Dir: b.work, Sandbox: plan},
			)
			want := names.Replace(c.want)
			if string(res.Head) != want || res.Prepared && c.change != "true" {
				t.Errorf("prepared %v, got %q, want %q", res.Prepared, res.Head, want)
			}
		})
	}
}

// A read-only command does not get a sandbox that was prepared for a command that writes, and vice
// versa.
func TestPreparedSandboxIsForOneProfile(t *testing.T) {
	t.Parallel()
	b := ownBox(t)
	write := b.plan()
	read, err := b.s.Plan(sandbox.Spec{Readable: []string{b.work}, Tmp: b.tmp})
	if err != nil {
		t.Fatal(err)
	}
	in := func(plan *sandbox.Plan) Result {
		return run(t, b.r, Command{Script: "echo x > a", Dir: b.work, Sandbox: plan})
	}
	for range 3 {
		b.prepare(write)
		if res := in(read); res.Prepared || res.ExitCode == 0 {
			t.Errorf("reading: got %+v", res)
		}
		b.wantWaiting(1, "after the other profile")
		if res := in(write); res.Prepared || res.ExitCode != 0 {
			t.Errorf("writing: got %+v", res)
		}
	}
}

// TestPreparedSandboxAndMounts checks that a prepared sandbox is not used after the machine's
// mounts have changed.
func TestPreparedSandboxAndMounts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	b := ownBox(t)
	plan := b.plan()
	b.ahead(plan, nil, Command{Argv: []string{"true"}})
	b.prepare(plan)
	b.waitPrepared()
	if err := syscall.Mount("tmpfs", b.out, "tmpfs", 0, ""); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(b.out, syscall.MNT_DETACH) })
	res := b.run("ls OUT")
	if res.Prepared || strings.TrimSpace(string(res.Head)) != "" {
		t.Errorf("prepared %v, got %q", res.Prepared, res.Head)
	}
}

// TestPreparedSandboxAndLayers covers the case in which a sandbox is prepared without the layer
// folder, because another command is using that folder. This sandbox must not be used after that
// command has ended.
func TestPreparedSandboxAndLayers(t *testing.T) {
	t.Parallel()
	b := ownBox(t)
	plan, err := b.s.Plan(
		sandbox.Spec{Writable: []string{b.work}, Tmp: b.tmp, Layer: b.out + "/layer"},
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.r.Run(ctx, Command{
			Script: "echo kept > ~/kept; echo ready; sleep 1000", Dir: b.work, Sandbox: plan,
			Output: func([]byte) { close(ready) },
		})
	}()
	<-ready
	if res := b.ahead(plan, nil, Command{Script: "cat ~/kept 2>/dev/null || echo none"}); string(
		res.Head,
	) != "none\n" {
		t.Errorf("while the other command runs: got %q", res.Head)
	}
	b.waitPrepared()
	end()
	<-ended
	if res := b.runWith(plan, "cat ~/kept"); string(res.Head) != "kept\n" || res.Prepared {
		t.Errorf("after the other command: prepared %v, got %q", res.Prepared, res.Head)
	}
}
