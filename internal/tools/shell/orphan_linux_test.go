package shell

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// daemonScript is the environment variable that makes this test binary act as a daemon that runs
// the given script.
const daemonScript = "SHELL_TEST_DAEMON_SCRIPT"

// daemonPlan is the environment variable with the sandbox plan for that script, as JSON.
const daemonPlan = "SHELL_TEST_DAEMON_PLAN"

// maybeDaemon runs the script until stdin is closed, and then closes the Runner.
func maybeDaemon() {
	script := os.Getenv(daemonScript)
	if script == "" {
		return
	}
	os.Unsetenv(daemonScript)
	r, err := New(Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	c := Command{Script: script, Output: func(p []byte) { os.Stdout.Write(p) }}
	if plan := os.Getenv(daemonPlan); plan != "" {
		if err := json.Unmarshal([]byte(plan), &c.Sandbox); err != nil {
			panic(err)
		}
	}
	go func() { _, _ = r.Run(context.Background(), c) }()
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	r.Close()
	os.Exit(0)
}

// escapes are ways in which processes try to outlive their command. %s is a process that runs for a
// long time. Each script prints "ready" at the end.
var escapes = map[string]string{
	"plain":       `%s & %s & echo ready; wait`,
	"setsid":      `setsid %s & sleep 0.1; echo ready; wait`,
	"nohup":       `nohup %s >/dev/null 2>&1 & echo ready; wait`,
	"double fork": `(setsid sh -c '(%s &) ; (setsid %s &)' &) ; sleep 0.2; echo ready; sleep 1000`,
	"deaf": `trap '' TERM HUP INT; (trap '' TERM; %s) & echo ready; while :; do sleep 1;` +
		` done`,
	"no marks": `env -i setsid nohup $(command -v sleep) $(echo %s | cut -d' ' -f2) ` +
		`>/dev/null 2>&1 & sleep 0.1; echo ready; wait`,
	"stopped":      `%s & kill -STOP $!; echo ready; wait`,
	"main is gone": `setsid %s >/dev/null 2>&1 & echo ready; exec sleep 1000`,
}

// mark returns a command line that no other process has.
func mark(t *testing.T) string {
	return fmt.Sprintf("sleep 1000.%d%d", os.Getpid(), time.Now().UnixNano())
}

// count returns the number of processes whose command line contains the number in mark.
func count(mark string) int {
	_, number, _ := strings.Cut(mark, " ")
	n := 0
	for _, p := range processes() {
		if p.zombie {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		if err == nil && bytes.Contains(line, []byte(number)) {
			n++
		}
	}
	return n
}

// there waits until count is not 0, and returns it. The count can be 0 at first, because a process
// that is executing another program briefly has no command line.
func there(mark string) (n int) {
	for end := time.Now().Add(time.Minute); n == 0 &&
		time.Now().Before(end); time.Sleep(time.Millisecond) {
		n = count(mark)
	}
	return n
}

// noneLeft waits until no process with the given mark is left.
func noneLeft(t *testing.T, mark string) {
	t.Helper()
	end := time.Now().Add(2 * time.Minute)
	for ; time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if count(mark) == 0 {
			return
		}
	}
	t.Errorf("%d processes are left", count(mark))
	for _, p := range processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		if _, number, _ := strings.Cut(mark, " "); bytes.Contains(line, []byte(number)) {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
}

func TestNoOrphansAfterAbort(t *testing.T) {
	t.Parallel()
	for name, script := range escapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, m := newRunner(t), mark(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			seen, asked := 0, time.Time{}
			res, err := r.Run(ctx, Command{Script: strings.ReplaceAll(script, "%s", m),
				Output: func([]byte) { seen, asked = there(m), time.Now(); cancel() }})
			took := time.Since(asked)
			if err != nil || !res.Aborted {
				t.Fatalf("got %+v, %v", res, err)
			}
			if seen == 0 {
				t.Fatal("the processes never ran, so the test checks nothing")
			}
			// If Run takes longer, it stops the remaining processes in the background.
			if n := count(m); n != 0 && took < Grace+abandonAfter {
				t.Errorf("%d processes are left after Run returned", n)
			}
			noneLeft(t, m)
		})
	}
}

func TestNoOrphansAfterTheEnd(t *testing.T) {
	r, m := newRunner(t), mark(t)
	res := run(t, r, Command{Script: "setsid nohup " + m + " >/dev/null 2>&1 & (setsid " + m +
		" &); sleep 0.1; echo done"})
	if res.ExitCode != 0 || res.Lingered < 2 {
		t.Errorf("got %+v; want both left behind and ended", res)
	}
	noneLeft(t, m)
}

// daemon starts this binary as a daemon that runs the script, and waits until the script has
// printed "ready".
func daemon(t *testing.T, script, m string) (cmd *exec.Cmd, stop func()) {
	t.Helper()
	cmd, stop = daemonWith(t, "", daemonScript+"="+script)
	if there(m) == 0 {
		t.Fatal("the processes never ran, so the test checks nothing")
	}
	return cmd, stop
}

// daemonIn starts a daemon that runs one command in a sandbox.
func daemonIn(t *testing.T, b *box) (cmd *exec.Cmd, stop func()) {
	t.Helper()
	plan, err := json.Marshal(b.plan())
	if err != nil {
		t.Fatal(err)
	}
	return daemonWith(t, b.work, daemonScript+"=echo ready", daemonPlan+"="+string(plan))
}

// daemonWith starts the daemon in the given folder. "" means the folder of the test.
func daemonWith(t *testing.T, dir string, env ...string) (cmd *exec.Cmd, stop func()) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the daemon said %q, %v", line, err)
	}
	return cmd, func() { in.Close() }
}

func TestNoOrphansAfterTheDaemonsDeath(t *testing.T) {
	t.Parallel()
	for name, script := range escapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mark(t)
			cmd, _ := daemon(t, strings.ReplaceAll(script, "%s", m), m)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			noneLeft(t, m)
		})
	}
}

func TestNoOrphansAfterAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	for name, script := range escapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mark(t)
			cmd, stop := daemon(t, strings.ReplaceAll(script, "%s", m), m)
			stop()
			if err := cmd.Wait(); err != nil {
				t.Errorf("the daemon exited with %v", err)
			}
			if n := count(m); n != 0 {
				t.Errorf("%d processes are left after the daemon exited", n)
			}
			noneLeft(t, m)
		})
	}
}

// TestNoOrphansAfterTheSupervisorsDeath checks that no process remains if a command kills its own
// supervisor.
func TestNoOrphansAfterTheSupervisorsDeath(t *testing.T) {
	r, m := newRunner(t), mark(t)
	res, err := r.Run(context.Background(),
		Command{Script: "setsid nohup " + m + " >/dev/null 2>&1 & (setsid " + m + " &) ; " + m +
			" & sleep 0.1; kill -9 $PPID; sleep 1000"})
	if err != nil || !res.Lost {
		t.Errorf("got %+v, %v; want it lost", res, err)
	}
	if !strings.Contains(res.Status(), "supervisor was killed") {
		t.Errorf("status %q does not explain this", res.Status())
	}
	noneLeft(t, m)
}

// TestTheSweepSparesOthers checks that children that the daemon itself started are not killed.
func TestTheSweepSparesOthers(t *testing.T) {
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t)
	_, _ = r.Run(context.Background(), Command{Script: "kill -9 $PPID; sleep 1000"})
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process that belongs to no command was killed: %v", err)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
}

func TestAThousandChildren(t *testing.T) {
	r, m := newRunner(t), mark(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	res, err := r.Run(ctx, Command{Script: "for i in $(seq 1000); do " + m +
		" & done; echo ready; wait", Output: func([]byte) { cancel() }})
	if err != nil || !res.Aborted {
		t.Errorf("got %+v, %v", res, err)
	}
	noneLeft(t, m)
}

// TestAGigabyteOfOutput checks that the daemon's memory stays small while a command prints 1 GB.
func TestAGigabyteOfOutput(t *testing.T) {
	t.Parallel()
	size, err := strconv.Atoi(os.Getenv("SHELL_TEST_DAEMON_PEAK"))
	if err != nil {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAGigabyteOfOutput$")
		cmd.Env = append(os.Environ(),
			fmt.Sprint("SHELL_TEST_DAEMON_PEAK=", testspeed.Size(1_000_000_000)))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	r := newRunner(t)
	res := run(t, r, Command{Script: fmt.Sprintf("yes 0123456789abcdef 2>/dev/null | head -c %d",
		size), SpillBytes: 1 << 20, Output: func([]byte) {}})
	if res.Total != int64(size) || !res.Truncated || len(res.Head)+len(res.Tail) > 256<<10 {
		t.Errorf("got %d bytes, head %d, tail %d", res.Total, len(res.Head), len(res.Tail))
	}
	if fi, err := os.Stat(res.SpillPath); err != nil || fi.Size() != 1<<20 {
		t.Errorf("the file: %v, %v", fi, err)
	}
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		var kb int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 && kb > 50<<10 {
			t.Errorf("the daemon needed %d MiB, want at most 50", kb>>10)
		} else if n == 1 {
			t.Logf("peak %d MiB in %v", kb>>10, res.Duration)
		}
	}
}
