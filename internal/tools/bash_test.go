package tools

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

func TestBash(t *testing.T) {
	h := newHarness(t).files("sub/x: y")
	for _, c := range []struct {
		name string
		args args
		want []string
	}{
		{"output", args{"command": "echo out; echo err >&2"}, []string{"out\nerr", "!["}},
		{"none", args{"command": "true"}, []string{"(no output)"}},
		{"exit code", args{"command": "echo bad; exit 3"}, []string{"bad\n[", "3", "!ERROR"}},
		{"folder", args{"command": "pwd", "cwd": "sub"}, []string{h.root + "/sub"}},
		{"folder outside", args{"command": "pwd", "cwd": "/"},
			[]string{"ERROR: choosing the folder", "outside"}},
		{"folder missing", args{"command": "pwd", "cwd": "none"}, []string{"ERROR: "}},
		{"binary", args{"command": `printf 'a\000b\377'`},
			[]string{"(4 bytes of binary output, not shown.", "xxd"}},
		{"timeout", args{"command": "sleep 60", "timeout": 0.2},
			[]string{"(no output)", "stopped after the timeout of 200ms", "background"}},
		{"closes its output and stays", args{"command": "exec >&- 2>&-; sleep 60", "timeout": 0.2},
			[]string{"(no output)", "timeout"}},
		{"leaves a process", args{"command": "sleep 60 & echo done"},
			[]string{"done\n[processes that it left running were terminated; use background for a process that should keep running]"}},
		{"empty", args{"command": "  "}, []string{"ERROR: the command is empty"}},
		{"timeout in milliseconds", args{"command": "echo ok", "timeout": 5000},
			[]string{"ok", "!cut to"}},
		{"timeout beyond the maximum", args{"command": "echo ok", "timeout": 900},
			[]string{"ok\n[The timeout was reduced to the maximum of 600 s"}},
		{"NUL", args{"command": "echo \x00"}, []string{"ERROR: "}},
	} {
		t.Run(c.name, func(t *testing.T) { h.t = t; want(t, h.run("bash", c.args), c.want...) })
	}
	want(t, h.output.String(), "out\n", "bad\n")
	var got string
	// On a slow machine, the first output takes longer.
	for seconds := 0.2; seconds < 60 && !strings.Contains(got, "begun"); seconds *= 4 {
		got = h.run("bash", args{"command": "echo begun; sleep 600", "timeout": seconds})
	}
	want(t, got, "begun", "stopped after the timeout of ")
}

// The settings determine the shell and the time limit.
func TestShellOptions(t *testing.T) {
	var o ShellOptions
	h := newHarness(t).session(func(s *Session) { s.Shell = func() ShellOptions { return o } })
	own := filepath.Join(h.root, "mysh")
	if err := os.WriteFile(own, []byte("#!/bin/sh\necho \"mine: $1 $2\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    ShellOptions
		args args
		want []string
	}{
		{ShellOptions{Program: own}, args{"command": "hello"}, []string{"mine: -c hello"}},
		{ShellOptions{Program: "sh"}, args{"command": "echo ${BASH_VERSION:-no bash}; echo $0"},
			[]string{"sh"}},
		{ShellOptions{Program: "no-such-shell"}, args{"command": "true"},
			[]string{"ERROR: ", "no-such-shell"}},
		{ShellOptions{Timeout: 100 * time.Millisecond}, args{"command": "sleep 60"},
			[]string{"stopped after the timeout of 100ms", "at most 600 s"}},
		{ShellOptions{Timeout: 100 * time.Millisecond, MaxTimeout: 500 * time.Millisecond},
			args{"command": "sleep 60"}, []string{"at most 0.5 s"}},
		{ShellOptions{MaxTimeout: 200 * time.Millisecond},
			args{"command": "sleep 60", "timeout": 50},
			[]string{"stopped after the maximum timeout", "The timeout was reduced"}},
	} {
		o = c.o
		want(t, h.run("bash", c.args), c.want...)
	}
	for seconds, d := range map[float64]time.Duration{0: bashTimeout, -1: bashTimeout,
		1.5: 1500 * time.Millisecond, 5000: 5 * time.Second, 601: bashMaxTimeout,
		1e300: bashMaxTimeout} {
		if got, _ := (&sessionEnv{}).shellOptions().duration(seconds); got != d {
			t.Errorf("%v seconds: %v, want %v", seconds, got, d)
		}
	}
	for program, readable := range map[string]bool{"": true, "/bin/bash": true, "dash": true,
		"zsh": false, "/usr/bin/fish": false, "pwsh": false, `C:\\x\\cmd.exe`: false, "nu": false} {
		if got := shell.ShellReadable(program); got != readable {
			t.Errorf("%q readable: %v", program, got)
		}
	}
}

// A long output is truncated in the middle. The complete output can be read from a file.
func TestBashLongOutput(t *testing.T) {
	h := newHarness(t)
	res, err := h.result("bash", args{"command": "seq 1 100000"})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(res.Text); n > bashHead+bashTail+1000 {
		t.Errorf("%d bytes", n)
	}
	want(t, res.Text, "1\n2\n3\n", "99999\n100000", res.Meta.Spill)
	want(t, h.run("read", args{"path": res.Meta.Spill, "offset": 50_000, "limit": 1}),
		"50000\t50000", "of 100000")
}

// A command that prints 50 MB uses little memory.
func TestBashFlood(t *testing.T) {
	h := newHarness(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got := h.run("bash", args{"command": "head -c 50000000 /dev/zero | tr '\\0' 'x'"})
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapSys) - int64(before.HeapSys); n > 50<<20 {
		t.Errorf("the heap grew by %d bytes", n)
	}
	if len(got) > bashHead+bashTail+1000 {
		t.Errorf("%d bytes", len(got))
	}
	if n := h.output.Len(); n > bashLive+100 {
		t.Errorf("%d bytes shown live", n)
	}
	want(t, h.output.String(), "not shown live")
}

func TestBashAbort(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ctx, cancel := context.WithCancel(context.Background())
	call := h.call(args{"command": "trap '' TERM; echo begun; for i in $(seq 1 1000); do sleep 100 & done; wait"})
	begun := make(chan struct{}, 100)
	call.Output = func(string) { begun <- struct{}{} }
	done := make(chan error, 1)
	go func() {
		_, err := agenttest.Run(ctx, h.tool("bash"), call)
		done <- err
	}()
	<-begun
	cancel()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("the command does not end")
	}
}

func TestBashUnsaved(t *testing.T) {
	var asked []string
	save := true
	h := newHarness(t, func(d *Deps) {
		d.SaveDirty = func(_ context.Context, _ *tool.Call, uris []string) ([]string, error) {
			if asked = uris; save {
				return nil, nil
			}
			return uris, nil
		}
	}).files("a.txt: disk", "sub/b.txt: disk", "clean: same")
	h.open("a.txt", "buffer")
	h.open("clean", "same")
	want(t, h.run("bash", args{"command": "cat a.txt"}), "!Unsaved")
	if len(asked) != 1 || !strings.HasSuffix(asked[0], "/a.txt") {
		t.Errorf("asked to save %v", asked)
	}
	save = false
	want(t, h.run("bash", args{"command": "cat a.txt"}),
		"disk\n[These files are not saved in the editor, so the command saw older text on disk: a.txt.]")
	asked = nil
	if h.run("bash", args{"command": "true", "cwd": "sub"}); asked != nil {
		t.Errorf("the user is asked to save %v for a command in another folder", asked)
	}
}

// TestSubjects checks that the subject of a call names all files that the call uses, so that the
// policy checks all of them.
func TestSubjects(t *testing.T) {
	h := newHarness(t)
	for _, c := range []struct{ tool, args, want string }{
		{"read", `{"path":".env"}`, ".env"},
		{"read", `{"paths":["a","b/.env"]}`, "a b/.env"},
		{"grep", `{"pattern":"x","path":".env"}`, ".env"},
		{"edit", `{"path":"a","patch":"*** Begin Patch\n*** Delete File: .git/config\n*** End Patch\n"}`, "a .git/config"},
	} {
		s := h.prepared(c.tool, c.args).Subject
		var want []string
		for _, p := range strings.Fields(c.want) {
			want = append(want, filepath.Join(h.root, p))
		}
		if !slices.Equal(s.Paths, want) {
			t.Errorf("%s %s is about %v, want %v", c.tool, c.args, s.Paths, want)
		}
	}
}

func TestGrepLeavesSecretsOut(t *testing.T) {
	h := newHarness(t, func(d *Deps) {
		d.Secret = func(path string) bool {
			return strings.HasSuffix(path, ".pem") || strings.HasSuffix(path, "linked.txt")
		}
		d.SecretNames = func(string) func(string) bool {
			return func(name string) bool { return strings.HasSuffix(name, ".pem") }
		}
	})
	h.files("a.txt: needle\n", "key.pem: needle secret\n", "linked.txt: needle secret\n")
	out := h.run("grep", args{"pattern": "needle"})
	want(t, out, "a.txt", "1 file skipped", "!needle secret", "!key.pem", "!linked.txt")
	want(t, h.run("grep", args{"pattern": "needle", "path": "key.pem"}), "needle secret")
	// The result does not show whether a secret file matches, so a secret cannot be guessed.
	for _, mode := range []string{"content", "files", "count"} {
		guess := func(pattern string) string {
			out := h.run("grep", args{"pattern": pattern, "mode": mode, "limit": 1})
			return strings.ReplaceAll(out, pattern, "PATTERN")
		}
		if right, wrong := guess("secre."), guess("tercse"); right != wrong {
			t.Errorf("%s: a right guess shows %q, a wrong one %q", mode, right, wrong)
		}
	}
	h.open("b.pem", "unsaved secret\n")
	want(t, h.run("grep", args{"pattern": "unsaved"}), "No match", "!unsaved secret")
}

func TestBashEffect(t *testing.T) {
	h := newHarness(t, func(d *Deps) {
		d.Classify = func(string) tool.Effect { return tool.ReadOnly }
		d.Env = func(*tool.Call) []string {
			return []string{"PATH=" + os.Getenv("PATH"),
				"GREETING=hi"}
		}
	})
	if h.prepared("bash", `{"command":"ls"}`).Effect != tool.ReadOnly ||
		h.prepared("bash", `{"command":"ls","background":true}`).Effect != tool.Dangerous {
		t.Error("effect")
	}
	if s := h.prepared("bash", `{"command":"go test","cwd":"x"}`).Subject; s.Kind != tool.SubjectCommand || s.Command != "go test" || s.Cwd != filepath.Join(h.root, "x") {
		t.Errorf("subject %+v", s)
	}
	want(t, h.run("bash", args{"command": "echo $GREETING$HOME"}), "hi")
}

func TestJobs(t *testing.T) {
	h := newHarness(t)
	res, err := h.result("bash", args{"command": "echo begun; read x < fifo; echo ended; exit 2",
		"background": true})
	if err != nil {
		t.Fatal(err)
	}
	want(t, res.Text, "Started job job_")
	if len(res.Activate) != 1 || res.Activate[0] != "job" {
		t.Errorf("activates %v", res.Activate)
	}
	message := <-h.ended // there is no fifo yet, so the job fails and exits
	want(t, message, "The background job job_", "has failed: ", "begun\n")
	jobs := h.set.d.Jobs.List("s1")
	if len(jobs) != 1 || jobs[0].Status != "failed" {
		t.Fatalf("jobs %+v", jobs)
	}
	want(t, h.run("job", args{"action": "read", "id": jobs[0].ID}), jobs[0].ID+
		" failed: echo begun", "begun\n")
	want(t, h.run("job", args{}), jobs[0].ID+" failed")
	want(t, h.run("job", args{"action": "kill", "id": jobs[0].ID}), " failed: ")
	want(t, h.run("job", args{"action": "read", "id": "nope"}), "ERROR: there is no job nope")
	want(t, h.run("job", args{"action": "read"}), "ERROR: send the id of a job")
	want(t, h.run("job", args{"action": "dance", "id": jobs[0].ID}), "ERROR: unknown action")
}

// TestJobChangesFiles checks that files changed by a job are reported both while it runs and when
// it ends.
func TestJobChangesFiles(t *testing.T) {
	h := newHarness(t)
	h.files("a.txt: one\n", "b.txt: two\n")
	h.run("read", args{"path": "a.txt"})
	h.run("bash", args{"command": "echo changed > a.txt; echo written; until test -e stop; do sleep 0.02; done", "background": true})
	id := h.set.d.Jobs.List("")[0].ID
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, out, _ := h.set.d.Jobs.Read(id); strings.Contains(out, "written") {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("the job writes nothing")
		}
	}
	want(t, h.run("job", args{"id": id}), " running: ",
		"[Changed by the command, so no checkpoint can restore it: a.txt.]")
	h.files("stop: ")
	want(t, <-h.ended, "has completed",
		"written\n[Changed by the command, so no checkpoint can restore it: a.txt.]")
	want(t, h.run("job", args{"id": id}), " completed: ", "a.txt.]")
}

func TestJobKill(t *testing.T) {
	h := newHarness(t)
	h.run("bash", args{"command": "echo $$; sleep 1000", "background": true})
	id := h.set.d.Jobs.List("")[0].ID
	want(t, h.run("job", args{"id": id}), " running: ")
	want(t, h.run("job", args{"action": "kill", "id": id}), id+" killed")
	select {
	case m := <-h.ended:
		t.Errorf("a message about a killed job: %s", m)
	default:
	}
}

// If a wait is longer than a Duration can represent, it is reduced to the maximum.
func TestJobWaitIsBounded(t *testing.T) {
	h := newHarness(t)
	h.run("bash", args{"command": "sleep 0.1", "background": true})
	want(t, h.run("job", args{"id": h.set.d.Jobs.List("")[0].ID, "wait": 1e300}), " completed: ")
}

// When a session ends, its jobs are stopped without a message. The jobs of other sessions keep
// running.
func TestJobsEndWithSession(t *testing.T) {
	var reported []string
	j := NewJobs(func(b Job, _ string) { reported = append(reported, b.SessionID) })
	defer j.Close()
	wait := func(ctx context.Context,
		_ func([]byte)) JobEnd {
		<-ctx.Done()
		return JobEnd{Failed: true}
	}
	for _, s := range []string{"a", "b"} {
		if _, err := j.Start(Job{SessionID: s}, wait); err != nil {
			t.Fatal(err)
		}
	}
	j.EndSession("a")
	if len(j.List("a")) != 0 || len(j.List("b")) != 1 || j.List("b")[0].Status != "running" ||
		reported != nil {
		t.Errorf("%v %v", j.List(""), reported)
	}
	for range maxRunningJobs - 1 {
		if _, err := j.Start(Job{SessionID: "b"}, wait); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.Start(Job{SessionID: "b"}, wait); err == nil {
		t.Error("one job more than the limit was started")
	}
	j.Close()
	if _, err := j.Start(Job{SessionID: "c"}, wait); err == nil {
		t.Error("a job was started after the end")
	}
}

// If a job starts another job while it is being stopped, both are stopped. No job may keep running
// after it is removed from the list.
func TestJobStartedByOneThatEnds(t *testing.T) {
	j := NewJobs(nil)
	late, done := make(chan struct{}), make(chan struct{})
	if _, err := j.Start(Job{SessionID: "a"}, func(ctx context.Context, _ func([]byte)) JobEnd {
		<-ctx.Done()
		_, err := j.Start(Job{SessionID: "a"}, func(ctx context.Context, _ func([]byte)) JobEnd {
			defer close(done)
			select {
			case <-ctx.Done():
			case <-late:
			}
			return JobEnd{}
		})
		if err != nil {
			t.Error(err)
		}
		return JobEnd{}
	}); err != nil {
		t.Fatal(err)
	}
	j.EndSession("a")
	select {
	case <-done:
	default:
		t.Error("the second job is still running")
	}
	close(late)
	j.Close()
}

func TestJobOutputIsBounded(t *testing.T) {
	j := NewJobs(nil)
	defer j.Close()
	b, err := j.Start(Job{SessionID: "a"}, func(_ context.Context, write func([]byte)) JobEnd {
		for i := range 100_000 {
			write([]byte(fmt.Sprintf("line %d\n", i)))
		}
		return JobEnd{}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(context.Background(), b.ID); err != nil {
		t.Fatal(err)
	}
	_, out, err := j.Read(b.ID)
	if err != nil || len(out) > jobOutput+100 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	want(t, out, "earlier bytes were dropped]\n", "line 99999")
	for range maxEndedJobs + 5 {
		b, err = j.Start(Job{SessionID: "a"},
			func(context.Context, func([]byte)) JobEnd { return JobEnd{} })
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Wait(context.Background(), b.ID); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(j.List("a")); n != maxEndedJobs {
		t.Errorf("%d jobs are remembered", n)
	}
}

// BenchmarkBashTrue reports how much longer a command takes with the tool than when it is started
// directly. It alternates between the two in the same run. It compares the medians and also the
// minimums, because load on the machine affects the minimums less.
func BenchmarkBashTrue(b *testing.B) {
	h := newHarness(b)
	// The first command also starts the supervisor for the next one.
	h.run("bash", args{"command": "true"})
	var ours, plain []time.Duration
	for b.Loop() {
		begin := time.Now()
		h.run("bash", args{"command": "true"})
		ours = append(ours, time.Since(begin))
		begin = time.Now()
		if err := exec.Command("bash", "--noprofile", "--norc", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
		plain = append(plain, time.Since(begin))
	}
	slices.Sort(ours)
	slices.Sort(plain)
	over := func(i int) float64 { return float64((ours[i] - plain[i]).Microseconds()) / 1000 }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(over(len(ours)/2), "ms-over-median")
	b.ReportMetric(over(0), "ms-over-least")
}

func BenchmarkReadSmall(b *testing.B) {
	h := newHarness(b)
	if err := os.WriteFile(filepath.Join(h.root, "a"), []byte(numbered(200)), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		h.run("read", args{"path": "a"})
	}
}
