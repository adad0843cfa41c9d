package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

func TestPreparedSandboxAbort(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"setsid", "double fork", "deaf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, m := ownBox(t), mark(t)
			plan := b.plan()
			b.ahead(plan, nil, Command{Argv: []string{"true"}})
			b.waitPrepared()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			res, err := b.r.Run(ctx, Command{
				Script: strings.ReplaceAll(escapes[name], "%s", m), Dir: b.work, Sandbox: plan,
				Output: func([]byte) { there(m); cancel() },
			})
			if err != nil || !res.Aborted {
				t.Errorf("got %+v, %v", res, err)
			}
			noneLeft(t, m)
			if res := b.run("(setsid " + m + " >/dev/null 2>&1 &); echo done"); string(
				res.Head,
			) != "done\n" {
				t.Errorf("after the abort: got %+v", res)
			}
			noneLeft(t, m)
		})
	}
}

// TestPreparedSandboxesEnd checks that a session has at most one prepared sandbox, and that none is
// left after the session ends, however it ends.
func TestPreparedSandboxesEnd(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) (*box, *sandbox.Plan) {
		b := ownBox(t)
		plan := b.plan()
		b.prepare(plan)
		b.wantWaiting(1, "after a command")
		return b, plan
	}
	supervisor := func(b *box) int {
		b.r.mu.Lock()
		defer b.r.mu.Unlock()
		return b.r.idle[len(b.r.idle)-1].cmd.Process.Pid
	}
	for name, end := range map[string]func(*testing.T, *box, *sandbox.Plan){
		"the Runner is closed": func(_ *testing.T, b *box, _ *sandbox.Plan) { b.r.Close() },
		"the session ends": func(_ *testing.T, b *box, p *sandbox.Plan) {
			b.r.Forget(p.Session)
		},
		"the supervisor is killed": func(_ *testing.T, b *box, _ *sandbox.Plan) {
			_ = syscall.Kill(supervisor(b), syscall.SIGKILL)
		},
		"the supervisor is asked to end": func(_ *testing.T, b *box, _ *sandbox.Plan) {
			_ = syscall.Kill(supervisor(b), syscall.SIGTERM)
		},
		"no command comes": func(t *testing.T, b *box, p *sandbox.Plan) {
			b.r.idleTime = time.Millisecond
			b.prepare(p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, plan := start(t)
			pids := b.waiting()
			end(t, b, plan)
			b.wantWaiting(0, name)
			for _, pid := range pids { // zombies must have been reaped
				awaitEnd(t, pid)
			}
		})
	}
	t.Run("many commands", func(t *testing.T) {
		t.Parallel()
		b, plan := start(t)
		done := make(chan struct{})
		for range 4 {
			go func() {
				for range 4 {
					b.prepare(plan)
				}
				done <- struct{}{}
			}()
		}
		for range 4 {
			<-done
		}
		b.wantWaiting(1, "after many commands at the same time")
		other := newBox(t, b.s)
		other.r = b.r
		other.prepare(other.plan())
		other.wantWaiting(1, "in another session")
		b.wantWaiting(1, "after a command of another session")
	})
	if idleTime >= 30*time.Second {
		t.Error("a sandbox still waits after 30 seconds")
	}
}

// TestPreparedSandboxEndsWithTheDaemon checks that no prepared sandbox outlives the daemon, even if
// the daemon is killed.
func TestPreparedSandboxEndsWithTheDaemon(t *testing.T) {
	t.Parallel()
	b := ownBox(t)
	cmd, _ := daemonIn(t, b)
	b.wantWaiting(1, "in the daemon")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	b.wantWaiting(0, "after the daemon was killed")
}

// TestPreparedSandboxesLeaveNothingOpen checks that a supervisor has no more open descriptors after
// many commands than after the first one.
func TestPreparedSandboxesLeaveNothingOpen(t *testing.T) {
	t.Parallel()
	b := ownBox(t)
	plan := b.plan()
	open := func() (string, int) {
		b.waitPrepared()
		b.r.mu.Lock()
		pid := strconv.Itoa(b.r.idle[0].cmd.Process.Pid)
		b.r.mu.Unlock()
		fds, err := os.ReadDir("/proc/" + pid + "/fd")
		if err != nil {
			t.Fatal(err)
		}
		return pid, len(fds)
	}
	b.ahead(plan, nil, Command{Argv: []string{"true"}})
	first, before := open()
	for i := range 40 {
		want := fmt.Sprintln(i)
		if res := b.runWith(plan, "echo "+want); string(res.Head) != want {
			t.Errorf("got %+v, want %q", res, want)
		}
	}
	last, after := open()
	if first != last || after > before {
		fds, _ := filepath.Glob("/proc/" + last + "/fd/*")
		for _, fd := range fds {
			to, _ := os.Readlink(fd)
			t.Log(fd, to)
		}
		t.Errorf("supervisor %s has %d descriptors, %s had %d", last, after, first, before)
	}
}

// awaitEnd waits until a process has exited and its parent has reaped it.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, ok := readProcess(strconv.Itoa(pid)); !ok {
			return
		}
	}
	t.Errorf("process %d is left", pid)
}

// awaitDeath waits until a process is no longer running.
func awaitDeath(pid int) {
	for p, ok := readProcess(strconv.Itoa(pid)); ok && !p.zombie; {
		time.Sleep(time.Millisecond)
		p, ok = readProcess(strconv.Itoa(pid))
	}
}

// If a prepared sandbox is killed, at most one command fails, and its result reports the reason.
func TestPreparedSandboxKilled(t *testing.T) {
	t.Parallel()
	b := ownBox(t)
	plan := b.plan()
	for range 5 {
		b.prepare(plan)
		b.waitPrepared()
		for _, pid := range b.waiting() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			awaitDeath(pid)
		}
		res := b.runWith(plan, "echo here")
		if res.Signal == "SIGKILL" { // the sandbox was already dying when it received the order
			res = b.runWith(plan, "echo here")
		}
		if string(res.Head) != "here\n" {
			t.Errorf("got %+v", res)
		}
	}
}
