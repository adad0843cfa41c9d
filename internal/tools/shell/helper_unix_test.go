//go:build !windows

package shell

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// supervisorOf runs a command that prints its parent process ID, which is that of the supervisor.
func supervisorOf(t *testing.T, r *Runner) int {
	t.Helper()
	res := run(t, r, Command{Script: "echo $PPID"})
	pid, err := strconv.Atoi(strings.TrimSpace(string(res.Head)))
	if err != nil {
		t.Fatalf("the command said %q", res.Head)
	}
	return pid
}

// Commands share a supervisor, but no state of one command reaches the next.
func TestSupervisorServesManyCommands(t *testing.T) {
	r, dir := newRunner(t), t.TempDir()
	first := supervisorOf(t, r)
	run(t, r, Command{Script: "export A=1; cd /; umask 0; exec 7>/dev/null; ulimit -n 50", Dir: dir,
		Env: []string{"A=0", "PATH=" + os.Getenv("PATH")}})
	res := run(t, r, Command{Script: `echo "$A|$PWD|$(umask)|$(ulimit -n)"; ls /proc/self/fd 2>/dev/null | tr '\n' ' '`, Env: []string{"PATH=" + os.Getenv("PATH")}})
	own, _ := os.Getwd()
	if got := string(res.Head); !strings.HasPrefix(got, "|"+own+"|") ||
		strings.Contains(got, "|50\n") || strings.Contains(got, "|0000|") ||
		strings.Contains(got, " 7 ") {
		t.Errorf("a command found state of another command: %q", got)
	}
	if _, err := r.Run(context.Background(),
		Command{Argv: []string{"true"}, Env: []string{"B=1"}}); err == nil {
		t.Error("a command without a PATH used that of another command")
	}
	if again := supervisorOf(t, newRunner(t)); again == first {
		t.Error("two runners share a supervisor")
	}
}

// A supervisor is replaced after ordersPerHelper commands, and after its command was killed.
func TestSupervisorIsReplaced(t *testing.T) {
	r := newRunner(t)
	first := supervisorOf(t, r)
	if second := supervisorOf(t, r); second != first {
		t.Errorf("the second command has supervisor %d, the first had %d", second, first)
	}
	for range ordersPerHelper {
		run(t, r, Command{Argv: []string{"true"}})
	}
	worn := supervisorOf(t, r)
	if worn == first {
		t.Error("a supervisor is never replaced")
	}
	run(t, r, Command{Script: "sleep 100", Timeout: time.Millisecond})
	if after := supervisorOf(t, r); after == worn {
		t.Error("a supervisor was used again after its command was killed")
	}
}

// If another process kills an idle supervisor, at most one command fails, and the error states the
// reason.
func TestIdleSupervisorKilled(t *testing.T) {
	r := newRunner(t)
	for range 20 {
		_ = syscall.Kill(supervisorOf(t, r), syscall.SIGKILL)
		res := run(t, r, Command{Script: "echo here"})
		if res.Lost { // the order was sent to a supervisor that was already dying
			res = run(t, r, Command{Script: "echo here"})
		}
		if string(res.Head) != "here\n" {
			t.Fatalf("got %+v", res)
		}
	}
}

// Commands that run concurrently have different supervisors.
func TestSupervisorsAtOnce(t *testing.T) {
	r := newRunner(t)
	t.Run("all", func(t *testing.T) {
		for i := range 40 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				want := strconv.Itoa(i) + "\n"
				if res := run(t, r, Command{Script: "echo " + want}); string(res.Head) != want {
					t.Errorf("got %q, want %q", res.Head, want)
				}
			})
		}
	})
	if n := live(r); n != 0 {
		t.Errorf("%d commands are still running after the last one ended", n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.idle) > maxIdle {
		t.Errorf("%d supervisors wait", len(r.idle))
	}
}
