package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// headlessRun runs `agent-lsp run` with a scripted model in a folder that contains only a.txt and
// the script.
func headlessRun(t *testing.T, script string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir, state := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"a.txt": "one\n", "model.jsonl": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{
		"HOME=" + state,
		"PATH=" + os.Getenv("PATH"),
		"XDG_STATE_HOME=" + state,
		"XDG_CONFIG_HOME=" + state,
	}
	if script != "" {
		env = append(env, "AGENT_LSP_SCRIPT="+filepath.Join(dir, "model.jsonl"))
	}
	var out, errs bytes.Buffer
	code = run(
		t.Context(),
		append([]string{"run"}, args...),
		env,
		strings.NewReader(""),
		&out,
		&errs,
	)
	return code, out.String(), errs.String()
}

const (
	touches = `{"toolCalls":[{"name":"bash","arguments":{"command":"touch x"}},{"name":"bash",` +
		`"arguments":{"command":"touch y"}}]}` + "\n"
	edits = `{"toolCalls":[{"name":"read","arguments":{"path":"a.txt"}},{"name":"edit",` +
		`"arguments":{"path":"a.txt","old_string":"one","new_string":"two"}}]}` + "\n"
	done = `{"text":"done"}` + "\n"
)

func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// TestRunAloneRefuses checks that an action that needs permission is refused when no user is
// available, and that the output says so.
func TestRunAloneRefuses(t *testing.T) {
	code, out, errs := headlessRun(t, touches+done, "do it")
	if code != exitOK || out != "done\n" {
		t.Errorf("exit code %d, stdout:\n%s", code, out)
	}
	has(
		t,
		"stderr",
		errs,
		"✗ Run touch x denied → the user did not allow this: no user was available to ask",
		"✗ Run touch y denied",
		"2 actions refused because no user was available to ask;",
	)
}

// TestRunTellsOfTries checks that stderr shows the reason for each retry and then the complete new
// answer, and that stdout contains only that answer.
func TestRunTellsOfTries(t *testing.T) {
	code, out, errs := headlessRun(
		t,
		`{"text":"half an","drop":true}`+"\n"+
			`{"error":{"status":529,"message":"too busy","retryAfter":0.1}}`+"\n"+done,
		"do it",
	)
	if code != exitOK || out != "done\n" {
		t.Errorf("exit code %d, stdout:\n%s", code, out)
	}
	has(
		t,
		"stderr",
		errs,
		"half an\n  ",
		" (1 of 3)\n",
		"too busy; trying again in 0.1 s (2 of 3)\ndone",
	)
}

// A notice does not split a line that is being streamed. It appears after the line is complete.
func TestNoticeBetweenLines(t *testing.T) {
	var out bytes.Buffer
	v := &view{out: &out}
	v.aside("first")
	v.delta("text", "one")
	v.aside("second")
	v.delta("text", " line\nand")
	v.aside("third")
	v.delta("text", " another")
	v.call("Read a.txt")
	v.delta("text", "a last\n")
	v.aside("fourth")
	v.endLine()
	if want := "  first\none line\n  second\nand another\n  third\n  ● Read a.txt\na last\n  fourth\n\n"; out.String() != want {
		t.Errorf("shown:\n%q, want\n%q", &out, want)
	}
}

// TestRunCollect checks that a run with the policy collect leaves its proposals for the next client
// that opens the session. With other policies, the run does not wait for a user either.
func TestRunCollect(t *testing.T) {
	code, out, errs := headlessRun(t, edits+done, "--edit-policy", "collect", "do it")
	if code != exitOK || out != "done\n" || strings.Contains(errs, "rejected") {
		t.Errorf("exit code %d, stdout:\n%s", code, out)
	}
	has(t, "stderr", errs, "✓ Edit a.txt → 1 change not decided yet\n")
	has(t, "stderr", errs, "waiting in session", "1 proposal;")
	for _, args := range [][]string{{"x"}, {"--json", "x"}} {
		args = append([]string{"--edit-policy", "ask"}, args...)
		code, out, errs := headlessRun(t, edits+done, args...)
		if code != exitOK {
			t.Errorf("%v: exit code %d", args, code)
		}
		has(t, "the output", out+errs, "no user was available to decide")
	}
}

// TestRunPrintsTheAnswerAlone checks that stdout contains only the model's final answer.
func TestRunPrintsTheAnswerAlone(t *testing.T) {
	looks := strings.Replace(edits, "{", `{"reasoning":"Which file?","text":"Let me look.",`, 1)
	const (
		cut = `{"text":"The file no","finish":"length"}` + "\n" + `{"text":"w holds two.\n"}` +
			"\n"
		dies = `{"text":"half","drop":true}` + "\n" + `{"error":{"status":401}}` + "\n"
		now  = "The file now holds two.\n"
	)
	for _, c := range []struct {
		name, script string
		args         []string
		code         int
		out          string
		progress     bool
	}{
		{"an answer after tools", looks + done, nil, exitOK, "done\n", true},
		{"quiet", looks + done, []string{"--quiet"}, exitOK, "done\n", false},
		{"continued after its length limit", looks + cut, nil, exitOK, now, true},
		{"no answer", dies, nil, exitFailed, "", false},
	} {
		code, out, errs := headlessRun(t, c.script, append(c.args, "do it")...)
		if code != c.code || out != c.out {
			t.Errorf("%s: exit code %d, stdout %q, stderr:\n%s", c.name, code, out, errs)
		}
		if !c.progress {
			if code == exitOK && errs != "" {
				t.Errorf("%s: stderr:\n%s", c.name, errs)
			}
			continue
		}
		has(t, c.name, errs, "Which file?", "Let me look.", "● Edit a.txt", "-one", "+two")
	}
}

// TestRunExitCodes checks the exit codes listed in docs/reference/commands.md, except for 3, which
// TestBadModelInput covers, and 130, which TestInterruptAtQuestion covers.
func TestRunExitCodes(t *testing.T) {
	for _, c := range []struct {
		script string
		args   []string
		code   int
	}{
		{done, []string{"hello"}, exitOK},
		{`{"error":{"status":401}}` + "\n", []string{"hello"}, exitFailed},
		{done, nil, exitUsage},
		{done, []string{"--edit-policy", "perhaps", "hello"}, exitUsage},
		{done, []string{"hello", "--json"}, exitOK},
		{done, []string{"hello", "--jason"}, exitUsage},
		{done, []string{"--", "--json"}, exitOK},
	} {
		if code, out, errs := headlessRun(t, c.script, c.args...); code != c.code {
			t.Errorf("%v: exit code %d, want %d\n%s%s", c.args, code, c.code, out, errs)
		}
	}
}

// TestRunWithoutADaemon checks that the error explains why the daemon is missing, instead of
// reporting a closed pipe.
func TestRunWithoutADaemon(t *testing.T) {
	code, _, errs := headlessRun(t, done, "--log-file", filepath.Join("none", "log"), "hello")
	if code != exitFailed ||
		errs != "agent-lsp run: opening the log: open none/log: no such file or directory\n" {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
}

// TestRunSaysOnce checks that problems in the settings are shown once on stderr and are not also
// logged.
func TestRunSaysOnce(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{".agent-lsp.json": `{"modle":"x"}`,
		"model.jsonl": done} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	env := []string{"HOME=" + dir, "XDG_STATE_HOME=" + t.TempDir(), "AGENT_LSP_SCRIPT=model.jsonl"}
	if code := run(
		t.Context(),
		[]string{"run", "hello"},
		env,
		strings.NewReader(""),
		&out,
		&errs,
	); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	n := strings.Count(errs.String(), "modle: unknown key")
	if n != 1 || out.String() != "done\n" || strings.Contains(errs.String(), "level=") {
		t.Errorf("reported %d times; stdout:\n%sstderr:\n%s", n, &out, &errs)
	}
	run(t.Context(), []string{"run", "--verbose", "hello"}, env, strings.NewReader(""), &out, &errs)
	has(t, "stderr with --verbose", errs.String(), "level=WARN")
}

// demoWithUser returns a demo whose user types on its terminal.
func demoWithUser(t *testing.T) (d *demo, keys io.Writer, screen *bytes.Buffer) {
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	screen = &bytes.Buffer{}
	return &demo{desk: newDesk(r), view: &view{out: screen}}, w, screen
}

// TestInterruptAtQuestion checks that canceling the context answers an open question with "no", and
// that no further question is asked.
func TestInterruptAtQuestion(t *testing.T) {
	d, _, screen := demoWithUser(t)
	ctx, interrupt := context.WithCancel(t.Context())
	go interrupt()
	p := wire.RequestPermissionParams{
		Title: "Run x",
		Options: []wire.PermissionOption{
			{OptionID: "yes", Kind: "allow_once"},
			{OptionID: "no", Kind: "reject_once"},
		},
	}
	if res := d.permit(ctx, p); res.OptionID != "no" || res.Feedback != "" {
		t.Errorf("answer %+v", res)
	}
	before := screen.Len()
	if answer := d.choose(ctx, "again?", "yn", "y"); answer != "n" || screen.Len() != before {
		t.Errorf("answer %q, screen:\n%s", answer, screen)
	}
}

// TestPersonAnswersInWords checks that a word is not taken for an option merely because it begins
// with that option's key.
func TestPersonAnswersInWords(t *testing.T) {
	d, keys, screen := demoWithUser(t)
	go io.WriteString(keys, "stop\nabort\nsession\n")
	p := wire.RequestPermissionParams{Title: "Run x", Options: []wire.PermissionOption{
		{OptionID: "once", Kind: "allow_once"}, {OptionID: "session", Kind: "allow_session"},
		{OptionID: "always", Kind: "allow_always"}, {OptionID: "no", Kind: "reject_once"}}}
	if res := d.permit(
		t.Context(),
		p,
	); res.OptionID != "session" ||
		strings.Count(screen.String(), "allow?") != 3 {
		t.Errorf("answer %+v, screen:\n%s", res, screen)
	}
}

// TestPersonAnswers checks typed answers: an unknown answer is asked for again, and options can be
// chosen by key and by number.
func TestPersonAnswers(t *testing.T) {
	d, keys, screen := demoWithUser(t)
	go io.WriteString(keys, "perhaps\n\nA\nno\nwrong place\n2, 1\n7\n")
	p := wire.RequestPermissionParams{Title: "Run x", Options: []wire.PermissionOption{
		{
			OptionID: "once",
			Kind:     "allow_once",
		},
		{OptionID: "always", Kind: "allow_always", Pattern: "bash(x *)"},
		{OptionID: "no", Kind: "reject_once"},
	}}
	if res := d.permit(t.Context(), p); res.OptionID != "always" {
		t.Errorf("answer %+v", res)
	}
	if res := d.permit(t.Context(), p); res.OptionID != "no" || res.Feedback != "wrong place" {
		t.Errorf("answer %+v", res)
	}
	q := wire.AskParams{
		Question: "Which?",
		Multi:    true,
		Options:  []wire.AskOption{{Label: "red"}, {Label: "blue"}},
	}
	if res := d.put(t.Context(), q); res.Answer != "blue, red" {
		t.Errorf("answer %+v", res)
	}
	if res := d.put(t.Context(), q); res.Answer != "7" {
		t.Errorf("answer %+v", res)
	}
	has(t, "screen", screen.String(), "allow? [y]es, [a]lways bash(x *), [n]o", "1. red", "2. blue")
}

// TestDemoWithoutTerminal checks that a demo without a terminal decides by the edit policy, which
// is auto by default.
func TestDemoWithoutTerminal(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		disk string
		errs string
	}{
		{nil, exitOK, "two\n", ""},
		{[]string{"--edit-policy", "collect"}, exitOK, "one\n", ""},
		{[]string{"--edit-policy", "ask"}, exitFailed, "one\n",
			"1 proposal rejected because there is no terminal for your decision; use --edit-policy auto"},
		{[]string{"--edit-policy", "always"}, exitUsage, "one\n", "--edit-policy"},
	} {
		dir, state := t.TempDir(), t.TempDir()
		put(t, filepath.Join(dir, "a.txt"), "one\n")
		put(t, filepath.Join(state, "model.jsonl"), edits+done)
		env := []string{
			"HOME=" + state,
			"PATH=" + os.Getenv("PATH"),
			"XDG_STATE_HOME=" + state,
			"XDG_CONFIG_HOME=" + state,
			"AGENT_LSP_SCRIPT=" + filepath.Join(state, "model.jsonl"),
			envRunMain + "=1",
		}
		args := append(append([]string{"demo", "--workspace", dir}, c.args...), "do it")
		var out, errs bytes.Buffer
		code := run(t.Context(), args, env, strings.NewReader(""), &out, &errs)
		text, err := os.ReadFile(filepath.Join(dir, "a.txt"))
		if code != c.code || err != nil || string(text) != c.disk ||
			!strings.Contains(errs.String(), c.errs) {
			t.Errorf("%v: exit code %d, file %q\n%s%s", c.args, code, text, &out, &errs)
		}
	}
}
