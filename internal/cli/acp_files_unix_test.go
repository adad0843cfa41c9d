//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// clientFiles starts the program for a client that reads and writes files, and returns the client,
// the workspace and a file outside of it. lines are the model's replies.
func clientFiles(t *testing.T, settings string, lines ...string) (c *acpClient, dir, out string) {
	t.Helper()
	home, script := t.TempDir(), filepath.Join(t.TempDir(), "script.jsonl")
	dir, out = t.TempDir(), filepath.Join(t.TempDir(), "out")
	file := filepath.Join(home, ".config", "agent-lsp", "config.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	mustStore(t, file, []byte(settings))
	mustStore(t, out, []byte("canary\n"))
	mustStore(t, filepath.Join(dir, "x"), []byte("plain\n"))
	mustStore(t, script, []byte(strings.Join(lines, "\n")+"\n"))
	fs := map[string]any{"readTextFile": true, "writeTextFile": true}
	return startACPWith(t, map[string]any{"fs": fs}, "HOME="+home,
		"XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "AGENT_LSP_SCRIPT="+script), dir, out
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A client follows links. If a file is replaced with a link while the client reads it, the model
// receives no content of the link's target.
func TestClientReadsNoFileThatWasSwapped(t *testing.T) {
	c, dir, out := clientFiles(t, `{}`,
		`{"toolCalls":[{"name":"read","arguments":{"path":"x"}}]}`,
		`{"expect":{"lastTool":"keeps changing","notSent":"canary"},"text":"done"}`)
	x := filepath.Join(dir, "x")
	c.permit = func(string, []byte) any {
		must(t, os.Remove(x), os.Symlink(out, x))
		text, err := os.ReadFile(x)
		must(t, err, os.Remove(x), os.WriteFile(x, []byte("plain\n"), 0o644))
		return map[string]any{"content": string(text)}
	}
	c.prompt(c.session(dir), "go")
	if got := c.text.String(); got != "done" {
		t.Errorf("said %q", got)
	}
	c.end()
}

// A running command could replace a file with a link before the client writes the file. While a
// command runs, agent-lsp therefore writes files itself.
func TestClientWritesNoFileDuringACommand(t *testing.T) {
	c, dir, _ := clientFiles(t,
		`{"sandbox":"off","permissions":{"profile":"trust"},"editPolicy":"auto"}`,
		`{"toolCalls":[{"name":"read","arguments":{"path":"x"}}]}`,
		`{"toolCalls":[{"name":"bash","arguments":{"command":"sleep 600","background":true}}]}`,
		`{"toolCalls":[{"name":"edit","arguments":{"path":"x","old_string":"plain",`+
			`"new_string":"new"}}]}`,
		`{"text":"done"}`)
	c.permit = func(method string, message []byte) any {
		if method != "fs/read_text_file" {
			t.Errorf("the client got %s", message)
		}
		text, _ := os.ReadFile(filepath.Join(dir, "x"))
		return map[string]any{"content": string(text)}
	}
	c.prompt(c.session(dir), "go")
	c.end()
	if got, err := os.ReadFile(filepath.Join(dir, "x")); string(got) != "new\n" {
		t.Errorf("the file contains %q (%v)", got, err)
	}
}

// The client must not be asked to open a named pipe, because the client would wait for another
// program to open the pipe and would block every later read.
func TestClientOpensNoPipe(t *testing.T) {
	c, dir, _ := clientFiles(t, `{}`,
		`{"toolCalls":[{"name":"read","arguments":{"path":"p"}}]}`,
		`{"expect":{"lastTool":"named pipe"},"text":"done"}`)
	must(t, syscall.Mkfifo(filepath.Join(dir, "p"), 0o600))
	c.permit = func(_ string, message []byte) any {
		t.Errorf("the client got %s", message)
		return map[string]any{}
	}
	c.prompt(c.session(dir), "go")
	if got := c.text.String(); got != "done" {
		t.Errorf("said %q", got)
	}
	c.end()
}

// The Agent Client Protocol has no field for the pattern of an answer for the session or the
// workspace. The question says what such an answer allows.
func TestACPQuestionsNameTheLastingAnswer(t *testing.T) {
	c, dir, _ := clientFiles(t, `{"permissions": {"profile": "ask"}}`,
		`{"toolCalls":[{"name":"bash","arguments":{"command":"touch one"}}]}`, `{"text":"done"}`)
	asked := ""
	c.permit = func(method string, message []byte) any {
		if method == "session/request_permission" {
			asked = string(message)
		}
		return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
	}
	c.prompt(c.session(dir), "go")
	if !strings.Contains(asked, "An answer for the session or the workspace allows bash(touch *).") {
		t.Errorf("asked %s", asked)
	}
	c.end()
}
