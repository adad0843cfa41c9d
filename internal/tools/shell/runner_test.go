package shell

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

func newRunner(t testing.TB) *Runner {
	t.Helper()
	r, err := New(Options{SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func run(t testing.TB, r *Runner, c Command) Result {
	t.Helper()
	res, err := r.Run(context.Background(), c)
	if err != nil {
		t.Fatalf("running %q: %v", c.Script, err)
	}
	return res
}

func TestRunReportsHowACommandEnded(t *testing.T) {
	r := newRunner(t)
	for _, tc := range []struct {
		name, script string
		code         int
		signal       string
		out          string
	}{
		{"success", "echo out; echo err >&2", 0, "", "out\nerr\n"},
		{"exit code", "echo no; exit 3", 3, "", "no\n"},
		{"signal", "kill -9 $$", -1, "SIGKILL", ""},
		{"not found", "agent-lsp-no-such-program", 127, "", ""},
		{"quotes reach the shell whole", `printf '%s|' "a b" 'c"d'`, 0, "", `a b|c"d|`},
		{"leaves nothing on stdin", "cat; echo end", 0, "", "end\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := run(t, r, Command{Script: tc.script})
			if res.ExitCode != tc.code || res.Signal != tc.signal {
				t.Errorf("got exit code %d, signal %q; want %d, %q", res.ExitCode, res.Signal,
					tc.code, tc.signal)
			}
			if tc.out != "" && string(res.Head) != tc.out {
				t.Errorf("got output %q, want %q", res.Head, tc.out)
			}
		})
	}
}

func TestRunSaysWhatItCannotStart(t *testing.T) {
	r := newRunner(t)
	for _, tc := range []struct {
		name string
		c    Command
		want string
	}{
		{"nothing", Command{}, "it is empty"},
		{"two things", Command{Script: "a", Argv: []string{"b"}}, "both a script and an argv"},
		{"a NUL byte", Command{Script: "echo \x00"}, "NUL byte"},
		{"too long", Command{Script: strings.Repeat("x", maxScript+1)}, "write it to a file"},
		{"no folder", Command{Script: "true", Dir: "/no/such/folder"}, "does not exist"},
		{"a file as folder", Command{Script: "true", Dir: "/dev/null"}, "not a folder"},
		{"no program", Command{Argv: []string{"agent-lsp-no-such-program"}}, "no such program"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := r.Run(context.Background(), tc.c)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestRunFeedsStdin(t *testing.T) {
	r := newRunner(t)
	in := strings.Repeat("line\n", 100_000)
	res := run(t, r, Command{Script: "wc -l", Stdin: strings.NewReader(in)})
	if got := strings.TrimSpace(string(res.Head)); got != "100000" {
		t.Errorf("got %q lines, want 100000", got)
	}
}

func TestRunUsesDirAndEnv(t *testing.T) {
	r, dir := newRunner(t), t.TempDir()
	res := run(t, r, Command{Script: "pwd; echo $NAME; env | grep -c HOME", Dir: dir,
		Env: []string{"NAME=v", "PATH=" + os.Getenv("PATH")}})
	if got := string(res.Head); got != dir+"\nv\n0\n" {
		t.Errorf("got %q", got)
	}
}

func TestAbortEndsWhatIgnoresSIGTERM(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	ctx, cancel := context.WithCancel(context.Background())
	var began time.Time
	res, err := r.Run(ctx, Command{
		Script: `trap "" TERM; echo ready; while :; do sleep 1; done`,
		Output: func([]byte) { began = time.Now(); cancel() },
	})
	if err != nil || !res.Aborted {
		t.Fatalf("got %+v, %v; want aborted", res, err)
	}
	if d := time.Since(began); d < Grace/2 || d > Grace+time.Minute {
		t.Errorf("ended after %v; want about %v", d, Grace)
	}
	r.Close() // wait for work that Run may have left in the background on a slow machine
	if n := live(r); n != 0 {
		t.Errorf("%d commands still live", n)
	}
}

func TestAbortIsQuickForWhatListens(t *testing.T) {
	r := newRunner(t)
	var res Result
	// On a busy machine, a process that gets no processor time within Grace is killed before its
	// trap runs.
	for try := 0; try < 5 && !strings.Contains(string(res.Head), "bye"); try++ {
		ctx, cancel := context.WithCancel(context.Background())
		var err error
		res, err = r.Run(ctx, Command{Script: `trap "echo bye; exit 5" TERM; echo ready; while ` +
			`:; do sleep 0.05; done`,
			Output: func([]byte) { cancel() }})
		if err != nil || !res.Aborted {
			t.Fatalf("got %+v, %v; want aborted", res, err)
		}
	}
	if !strings.Contains(string(res.Head), "bye") {
		t.Errorf("got %q %+v; want aborted after the trap ran", res.Head, res)
	}
}

// The time limit starts when the command starts. A slow machine may need longer than the limit
// until the first output, so the test then tries a longer limit.
func TestTimeout(t *testing.T) {
	var res Result
	for limit := 100 * time.Millisecond; len(res.Head) == 0 && limit < time.Minute; limit *= 4 {
		res = run(t, newRunner(t), Command{Script: "echo a; sleep 1000", Timeout: limit})
	}
	if !res.TimedOut || res.Aborted || string(res.Head) != "a\n" {
		t.Errorf("got %+v", res)
	}
	if !strings.Contains(res.Status(), "time limit") {
		t.Errorf("status %q does not name the time limit", res.Status())
	}
}

func TestClosedOutputIsNotTheEnd(t *testing.T) {
	t.Parallel()
	res := run(t, newRunner(t), Command{Script: "exec >&- 2>&-; sleep 0.3; exit 4"})
	if res.ExitCode != 4 || res.Duration < 200*time.Millisecond {
		t.Errorf("got %+v; want exit code 4 after 0.3 s", res)
	}
}

func TestGrandchildHoldingThePipeDoesNotHang(t *testing.T) {
	t.Parallel()
	res := run(t, newRunner(t), Command{Script: "sleep 1000 & echo started"})
	if string(res.Head) != "started\n" || res.Lingered == 0 || res.Duration > 5*time.Minute {
		t.Errorf("got %+v", res)
	}
}

func TestLastWordsOfALingererAreRead(t *testing.T) {
	r := newRunner(t)
	r.linger = time.Minute
	res := run(t, r, Command{Script: "(sleep 0.05; echo late) & exit 0"})
	if string(res.Head) != "late\n" {
		t.Errorf("got %q; want the late line", res.Head)
	}
}

func TestBinaryOutputIsExplained(t *testing.T) {
	res := run(t, newRunner(t), Command{Script: "head -c 300000 /dev/zero"})
	if !res.Binary() || !strings.Contains(res.Text(), "binary output of 300000 bytes") {
		t.Errorf("got %q", res.Text())
	}
}

func TestLongOutputKeepsBothEndsAndAFile(t *testing.T) {
	res := run(t, newRunner(t), Command{Script: "seq 1 200000", HeadBytes: 100, TailBytes: 100})
	whole, err := os.ReadFile(res.SpillPath)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(whole)) != res.Total || !bytes.HasSuffix(whole, []byte("199999\n200000\n")) ||
		!bytes.HasPrefix(whole, []byte("1\n2\n")) {
		t.Errorf("the file has %d bytes of %d", len(whole), res.Total)
	}
	if !bytes.Equal(res.Head, whole[:100]) || !bytes.Equal(res.Tail, whole[len(whole)-100:]) {
		t.Errorf("head %q, tail %q", res.Head, res.Tail)
	}
	if !strings.Contains(res.Text(), "bytes omitted; the full output is in "+res.SpillPath+
		"; read or grep it") {
		t.Errorf("the text does not say what is missing: %q", res.Text())
	}
}

func TestLiveOutputNeverSplitsARune(t *testing.T) {
	var all []byte
	res := run(t, newRunner(t), Command{
		Script: `printf '\303'; sleep 0.05; printf '\244\342\202'; sleep 0.05; printf '\254'`,
		Output: func(p []byte) {
			if wholeRunes(p) != len(p) {
				t.Errorf("%q is cut within a character", p)
			}
			all = append(all, p...)
		}})
	if string(all) != "ä€" || string(res.Head) != "ä€" {
		t.Errorf("got %q live and %q at the end", all, res.Head)
	}
}

func TestCloseEndsEverythingAndRefusesMore(t *testing.T) {
	r := newRunner(t)
	ready := make(chan struct{})
	ended := make(chan Result, 1)
	go func() {
		res, _ := r.Run(context.Background(),
			Command{Script: "echo ready; sleep 1000", Output: func([]byte) { close(ready) }})
		ended <- res
	}()
	<-ready
	r.Close()
	if res := <-ended; res.ExitCode == 0 {
		t.Errorf("got %+v; want it ended", res)
	}
	if _, err := r.Run(context.Background(), Command{Script: "true"}); err == nil {
		t.Error("a closed runner started a command")
	}
}

// live returns the number of running commands.
func live(r *Runner) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for h := range r.helpers {
		if h.cur != nil {
			n++
		}
	}
	return n
}
