package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// headlessRun runs `agent-lsp run` in an empty folder with one file, a.txt, and a scripted model.
func headlessRun(t *testing.T, script string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir, state := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"a.txt": "one\n", "model.jsonl": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + state, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + state, "XDG_CONFIG_HOME=" + state}
	if script != "" {
		env = append(env, "AGENT_LSP_SCRIPT="+filepath.Join(dir, "model.jsonl"))
	}
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"run"}, args...), env, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

const (
	touches = `{"toolCalls":[{"name":"bash","arguments":{"command":"touch x"}},{"name":"bash","arguments":{"command":"touch y"}}]}` + "\n"
	edits   = `{"toolCalls":[{"name":"read","arguments":{"path":"a.txt"}},{"name":"edit","arguments":{"path":"a.txt","old_string":"one","new_string":"two"}}]}` + "\n"
	done    = `{"text":"done"}` + "\n"
)

func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// TestRunAloneRefuses runs what would have to ask where nobody is: it is refused in so many words.
func TestRunAloneRefuses(t *testing.T) {
	code, out, errs := headlessRun(t, touches+done, "do it")
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	has(t, "stdout", out, "✗ Run touch x denied → the user did not allow this: nobody was there to ask", "✗ Run touch y denied", "done")
	has(t, "stderr", errs, "refused, because nobody was there to ask: 2 actions;")
}

// TestRunTellsOfTries shows why an answer is late, and that it begins anew.
func TestRunTellsOfTries(t *testing.T) {
	code, out, _ := headlessRun(t, `{"text":"half an","drop":true}`+"\n"+`{"error":{"status":529,"message":"too busy","retryAfter":0.1}}`+"\n"+done, "do it")
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	has(t, "stdout", out, "half an\n  ", " (1 of 3)\n", "too busy; trying again in 0.1 s (2 of 3)\ndone")
}

// A notice does not part a line that streams: it stands at its end.
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

// TestRunCollect leaves what is collected for whoever opens the session; the other policies do not wait either.
func TestRunCollect(t *testing.T) {
	code, out, errs := headlessRun(t, edits+done, "--edit-policy", "collect", "do it")
	if code != exitOK || strings.Contains(out, "rejected") {
		t.Errorf("exit code %d, stdout:\n%s", code, out)
	}
	has(t, "stdout", out, "✓ Edit a.txt → collected: 1 hunk for the user to decide")
	has(t, "stderr", errs, "waiting in session", "1 proposal;")
	for _, args := range [][]string{{"--edit-policy", "ask", "x"}, {"--json", "--edit-policy", "ask", "x"}} {
		code, out, _ := headlessRun(t, edits+done, args...)
		if code != exitOK {
			t.Errorf("%v: exit code %d", args, code)
		}
		has(t, "stdout", out, "nobody was there to decide")
	}
}

// TestRunExitCodes is the table of protocol section 9; 130 is TestInterruptAtQuestion's.
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
		{done, []string{"hello", "--json"}, exitUsage},
	} {
		if code, out, errs := headlessRun(t, c.script, c.args...); code != c.code {
			t.Errorf("%v: exit code %d, want %d\n%s%s", c.args, code, c.code, out, errs)
		}
	}
}

// TestRunWithoutADaemon says why there is none, not that a pipe is closed.
func TestRunWithoutADaemon(t *testing.T) {
	code, _, errs := headlessRun(t, done, "--log-file", filepath.Join("none", "log"), "hello")
	if code != exitFailed || errs != "agent-lsp run: opening the log: open none/log: no such file or directory\n" {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
}

// TestDaemonEndsBeforeTheTurn: who waits for a turn of a daemon that is gone is told so, after all that it still said.
func TestDaemonEndsBeforeTheTurn(t *testing.T) {
	for name, wait := range map[string]func(*demo) error{
		"demo": func(d *demo) error { _, err := d.prompt(t.Context(), "hello"); return err },
		"run": func(d *demo) error {
			if err := d.client.call(t.Context(), wire.MethodPrompt, nil, new(wire.PromptResult)); err != nil {
				return err
			}
			_, err := (&headless{p: &program{}, view: d.view, client: d.client, shown: d}).watch(t.Context(), t.Context(), "s")
			return err
		},
	} {
		screen := &bytes.Buffer{}
		d := &demo{view: &view{out: screen}, events: make(chan event, 10)}
		daemonIn, in := io.Pipe()
		out, daemonOut := io.Pipe()
		d.client = connect(t.Context(), out, in, &client{notify: d.enqueue, request: d.answer})
		go endsAtPrompt(t, daemonIn, daemonOut)
		ended := make(chan error, 1)
		go func() { ended <- wait(d) }()
		select {
		case err := <-ended:
			if !errors.Is(err, errGone) || !strings.Contains(screen.String(), "half a") {
				t.Errorf("%s: %v, screen:\n%s", name, err, screen)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s waits for a daemon that is gone", name)
		}
	}
}

// endsAtPrompt is a daemon that accepts a prompt, says something and is gone.
func endsAtPrompt(t *testing.T, in io.Reader, out io.WriteCloser) {
	defer out.Close()
	r := bufio.NewReader(in)
	say := func(said string) { fmt.Fprintf(out, "Content-Length: %d\r\n\r\n%s", len(said), said) }
	for prompted := false; !prompted; {
		var size int
		var asked struct {
			ID     json.RawMessage
			Method string
		}
		_, err := fmt.Fscanf(r, "Content-Length: %d\r\n\r\n", &size)
		if err == nil {
			err = json.NewDecoder(io.LimitReader(r, int64(size))).Decode(&asked)
		}
		if err != nil {
			t.Error(err)
			return
		}
		say(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"sessionId":"s"}}`)
		prompted = asked.Method == wire.MethodPrompt
	}
	say(`{"jsonrpc":"2.0","method":"agent/delta","params":{"kind":"text","text":"half a"}}`)
}

// TestRunSaysOnce shows what is wrong with the settings once, on stdout, and logs nothing beside it.
func TestRunSaysOnce(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{".agent-lsp.json": `{"modle":"x"}`, "model.jsonl": done} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	env := []string{"HOME=" + dir, "XDG_STATE_HOME=" + t.TempDir(), "AGENT_LSP_SCRIPT=model.jsonl"}
	if code := run(t.Context(), []string{"run", "hello"}, env, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if n := strings.Count(out.String(), "modle: unknown key"); n != 1 || errs.Len() != 0 {
		t.Errorf("said %d times; stdout:\n%sstderr:\n%s", n, &out, &errs)
	}
}

// person is a demo at whose terminal somebody types.
func person(t *testing.T) (d *demo, keys io.Writer, screen *bytes.Buffer) {
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	screen = &bytes.Buffer{}
	return &demo{desk: newDesk(r), view: &view{out: screen}}, w, screen
}

// TestInterruptAtQuestion ends a question by its context, and puts no further one.
func TestInterruptAtQuestion(t *testing.T) {
	d, _, screen := person(t)
	ctx, interrupt := context.WithCancel(t.Context())
	go interrupt()
	p := wire.RequestPermissionParams{Title: "Run x", Options: []wire.PermissionOption{{OptionID: "yes", Kind: "allow_once"}, {OptionID: "no", Kind: "reject_once"}}}
	if res := d.permit(ctx, p); res.OptionID != "no" || res.Feedback != "" {
		t.Errorf("answer %+v", res)
	}
	before := screen.Len()
	if answer := d.choose(ctx, "again?", "yn", "y"); answer != "n" || screen.Len() != before {
		t.Errorf("answer %q, screen:\n%s", answer, screen)
	}
}

// TestPersonAnswersInWords types words that begin with the key of a grant and mean no such thing.
func TestPersonAnswersInWords(t *testing.T) {
	d, keys, screen := person(t)
	go io.WriteString(keys, "stop\nabort\nsession\n")
	p := wire.RequestPermissionParams{Title: "Run x", Options: []wire.PermissionOption{
		{OptionID: "once", Kind: "allow_once"}, {OptionID: "session", Kind: "allow_session"},
		{OptionID: "always", Kind: "allow_always"}, {OptionID: "no", Kind: "reject_once"}}}
	if res := d.permit(t.Context(), p); res.OptionID != "session" || strings.Count(screen.String(), "allow?") != 3 {
		t.Errorf("answer %+v, screen:\n%s", res, screen)
	}
}

// TestPersonAnswers types answers: unknown ones are asked for again, options go by key and by number.
func TestPersonAnswers(t *testing.T) {
	d, keys, screen := person(t)
	go io.WriteString(keys, "perhaps\n\nA\nno\nwrong place\n2, 1\n7\n")
	p := wire.RequestPermissionParams{Title: "Run x", Options: []wire.PermissionOption{
		{OptionID: "once", Kind: "allow_once"}, {OptionID: "always", Kind: "allow_always", Pattern: "bash(x *)"}, {OptionID: "no", Kind: "reject_once"}}}
	if res := d.permit(t.Context(), p); res.OptionID != "always" {
		t.Errorf("answer %+v", res)
	}
	if res := d.permit(t.Context(), p); res.OptionID != "no" || res.Feedback != "wrong place" {
		t.Errorf("answer %+v", res)
	}
	q := wire.AskParams{Question: "Which?", Multi: true, Options: []wire.AskOption{{Label: "red"}, {Label: "blue"}}}
	if res := d.put(t.Context(), q); res.Answer != "blue, red" {
		t.Errorf("answer %+v", res)
	}
	if res := d.put(t.Context(), q); res.Answer != "7" {
		t.Errorf("answer %+v", res)
	}
	has(t, "screen", screen.String(), "allow? [y]es [a]lways bash(x *) [n]o", "1. red", "2. blue")
}
