//go:build !windows

package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// terminal opens a pseudo terminal. The returned function closes the program's end and returns
// everything that the terminal displayed.
func terminal(t *testing.T) (user, program *os.File, shown func() string) {
	t.Helper()
	user, program, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	var text bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&text, user) // io.Copy returns when the program's end is closed
	}()
	return user, program, func() string {
		program.Close()
		<-read
		return strings.ReplaceAll(text.String(), "\r\n", "\n")
	}
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
	_, program, shown := terminal(t)
	env = append(env, "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"), "XDG_STATE_HOME="+t.TempDir(),
		"XDG_CONFIG_HOME="+dir, "AGENT_LSP_SCRIPT="+filepath.Join(dir, "model.jsonl"))
	var out bytes.Buffer
	args = append(append([]string{"run"}, args...), "do it")
	code := run(t.Context(), args, env, strings.NewReader(""), &out, program)
	stderr = shown()
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

// TestRunDecidesOnATerminal checks that a user can decide about an edit at the terminal, and that
// the progress output shows the result of the edit. The program runs in a separate process, because
// a read from a terminal ends only with its process.
func TestRunDecidesOnATerminal(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		"y\n":               "✓ Edit a.txt → 1 change applied\n",
		"n\nkeep the one\n": "✗ Edit a.txt → 1 change rejected: keep the one\n",
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "a.txt"), "one\n")
		put(t, filepath.Join(dir, "model.jsonl"), edits+done)
		user, program, shown := terminal(t)
		if _, err := io.WriteString(user, answer); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "run", "--edit-policy", "ask", "do it")
		cmd.Dir, cmd.Stdin, cmd.Stderr = dir, program, program
		cmd.Env = []string{
			"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "NO_COLOR=1",
			"AGENT_LSP_SCRIPT=" + filepath.Join(dir, "model.jsonl"), envRunMain + "=1",
		}
		out, err := cmd.Output()
		if text := shown(); err != nil || string(out) != "done\n" ||
			!strings.Contains(text, want) || strings.Contains(text, "hunks") {
			t.Errorf("%q: %v, stdout %q, the terminal:\n%s", answer, err, out, text)
		}
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
