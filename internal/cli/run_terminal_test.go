//go:build !windows

package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// tty is a pseudo terminal with a record of everything that it displayed.
type tty struct {
	user, program *os.File
	mu            sync.Mutex
	text          bytes.Buffer
	more          chan struct{} // receives a value after text has grown
	closed        chan struct{}
}

func terminal(t *testing.T) *tty {
	t.Helper()
	user, program, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	y := &tty{user: user, program: program, more: make(chan struct{}, 1),
		closed: make(chan struct{})}
	go func() {
		defer close(y.closed)
		_, _ = io.Copy(y, user) // io.Copy returns when the program's end is closed
	}()
	return y
}

// Write records displayed text.
func (y *tty) Write(b []byte) (int, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	select {
	case y.more <- struct{}{}:
	default:
	}
	return y.text.Write(b)
}

// displayed returns the text that was displayed so far.
func (y *tty) displayed() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return strings.ReplaceAll(y.text.String(), "\r\n", "\n")
}

// answer types a line after the terminal has displayed the question.
func (y *tty) answer(t *testing.T, question, line string) {
	t.Helper()
	for !strings.Contains(y.displayed(), question) {
		select {
		case <-y.more:
		case <-y.closed:
			t.Fatalf("the terminal never displayed %q:\n%s", question, y.displayed())
		case <-time.After(time.Minute):
			t.Fatalf("the terminal did not display %q:\n%s", question, y.displayed())
		}
	}
	y.typeText(t, line+"\n")
}

func (y *tty) typeText(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(y.user, text); err != nil {
		t.Fatal(err)
	}
}

// shown closes the program's end and returns everything that the terminal displayed.
func (y *tty) shown() string {
	y.program.Close()
	<-y.closed
	return y.displayed()
}

// runOnTerminal is like headlessRun, but stderr is a terminal.
func runOnTerminal(
	t *testing.T, script string, env []string, args ...string,
) (stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	put(t, filepath.Join(dir, "a.txt"), "one\n")
	put(t, filepath.Join(dir, "model.jsonl"), script)
	put(t, filepath.Join(dir, ".agent-lsp.json"), `{"modle":"x"}`) // causes a log message
	screen := terminal(t)
	env = append(env, "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"), "XDG_STATE_HOME="+t.TempDir(),
		"XDG_CONFIG_HOME="+dir, "AGENT_LSP_SCRIPT="+filepath.Join(dir, "model.jsonl"))
	var out bytes.Buffer
	args = append(append([]string{"run"}, args...), "do it")
	code := run(t.Context(), args, env, strings.NewReader(""), &out,
		screen.program)
	stderr = screen.shown()
	if code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, &out, stderr)
	}
	return out.String(), stderr
}

// TestRunInColor checks that progress is shown in color if stderr is a terminal, but the answer is
// not, because stdout is not a terminal.
func TestRunInColor(t *testing.T) {
	script := strings.Replace(edits, "{", `{"reasoning":"Which file?\n",`, 1) + done
	paints := []string{
		"\x1b[2mWhich file?\n\x1b[0m", "\x1b[36m● \x1b[0mEdit a.txt", "\x1b[31m-one\x1b[0m",
		"\x1b[32m+two\x1b[0m", "\x1b[32m✓\x1b[0m Edit a.txt\x1b[2m → 1 change applied\x1b[0m\n",
	}
	out, errs := runOnTerminal(t, script, nil)
	if out != "done\n" {
		t.Errorf("stdout %q", out)
	}
	has(t, "the terminal", errs, paints...)
	out, errs = runOnTerminal(t, script, []string{"NO_COLOR=1"})
	if out != "done\n" || strings.Contains(errs, "\x1b") {
		t.Errorf("with NO_COLOR: stdout %q, the terminal\n%q", out, errs)
	}
	has(t, "the terminal", errs, "Which file?", "✓ Edit a.txt → 1 change applied\n")
}

// TestRunQuietAndVerbose checks that, with a terminal as stderr, a quiet run shows nothing and a
// verbose run also shows the log.
func TestRunQuietAndVerbose(t *testing.T) {
	out, errs := runOnTerminal(t, edits+done, nil, "--quiet")
	if out != "done\n" || errs != "" {
		t.Errorf("with --quiet: stdout %q, the terminal\n%q", out, errs)
	}
	out, errs = runOnTerminal(t, edits+done, nil, "--verbose")
	if out != "done\n" {
		t.Errorf("with --verbose: stdout %q", out)
	}
	has(t, "with --verbose, the terminal", errs, "level=WARN", "● ", "→ 1 change applied")
	if _, errs = runOnTerminal(t, edits+done, nil); strings.Contains(errs, "level=") {
		t.Errorf("without --verbose the terminal shows the log:\n%s", errs)
	}
}

// startOnTerminal starts agent-lsp run in a separate process, because a read from a terminal ends
// only with its process. The returned function waits for the end and returns stdout.
func startOnTerminal(t *testing.T, screen *tty, script string) (wait func() string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.txt"), "one\n")
	put(t, filepath.Join(dir, "model.jsonl"), script)
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), exe, "run", "--edit-policy", "ask", "do it")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, screen.program, &out, screen.program
	cmd.Env = []string{
		"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "NO_COLOR=1",
		"AGENT_LSP_SCRIPT=" + filepath.Join(dir, "model.jsonl"), envRunMain + "=1",
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() string {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v", err)
		}
		return out.String()
	}
}

// TestRunDecidesOnATerminal checks that a user can decide about an edit at the terminal, and that
// the progress output shows the result of the edit.
func TestRunDecidesOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answer, comment, want string }{
		{"y", "", "✓ Edit a.txt → 1 change applied\n"},
		{"n", "keep the one", "✗ Edit a.txt → 1 change rejected: keep the one\n"},
	} {
		screen := terminal(t)
		wait := startOnTerminal(t, screen, edits+done)
		screen.answer(t, "accept? ", c.answer)
		if c.comment != "" {
			screen.answer(t, "reason for the model", c.comment)
		}
		out := wait()
		if text := screen.shown(); out != "done\n" || !strings.Contains(text, c.want) ||
			strings.Contains(text, "hunks") {
			t.Errorf("%q: stdout %q, the terminal:\n%s", c.answer, out, text)
		}
	}
}

// TestTypedAheadAnswersNothing checks that lines, and the beginning of a line, that the user typed
// before a question do not answer it.
func TestTypedAheadAnswersNothing(t *testing.T) {
	t.Parallel()
	screen := terminal(t)
	screen.typeText(t, "y\nyes\n\ny")
	wait := startOnTerminal(t, screen, edits+done)
	screen.answer(t, "accept? ", "no")
	screen.answer(t, "reason for the model", "typed ahead")
	wait()
	if text := screen.shown(); strings.Count(text, "accept? ") != 1 ||
		!strings.Contains(text, "✗ Edit a.txt → 1 change rejected: typed ahead\n") {
		t.Errorf("the terminal:\n%s", text)
	}
}

func TestOutcomeInWords(t *testing.T) {
	for want, o := range map[string]outcome{
		"1 change applied":  {State: "applied", Accepted: 1, Total: 1},
		"2 changes applied": {State: "applied", Accepted: 2, Total: 2},
		"2 changes applied, 1 change rejected: x": {
			State: "partiallyApplied", Accepted: 2, Total: 3, comment: ": x",
		},
		"3 changes rejected":       {State: "rejected", Total: 3},
		"1 change not decided yet": {State: "proposed", Total: 1},
	} {
		if o.String() != want {
			t.Errorf("%+v is %q, want %q", o, o, want)
		}
	}
}
