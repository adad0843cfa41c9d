//go:build unix

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that runs without approval although it has no sandbox must not run in the client's
// terminal, because the client's environment would choose the program.
func TestUnaskedCommandsStayOutOfTerminals(t *testing.T) {
	home, dir, script := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "script.jsonl")
	settings := filepath.Join(home, ".config", "agent-lsp", "config.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o755); err != nil {
		t.Fatal(err)
	}
	mustStore(t, settings, []byte(`{"sandbox":"off"}`))
	mustStore(t, script, []byte(`{"toolCalls":[{"name":"bash","arguments":{"command":"ls"}}]}`+
		"\n"+`{"expect":{"lastTool":"a.txt"},"toolCalls":[{"name":"bash","arguments":`+
		`{"command":"make x"}}]}`+"\n"+`{"text":"done"}`+"\n"))
	mustStore(t, filepath.Join(dir, "a.txt"), nil)
	c := startACPWith(t, map[string]any{"terminal": true}, "HOME="+home,
		"XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "AGENT_LSP_SCRIPT="+script,
		"PATH=.:"+os.Getenv("PATH"), "BASH_ENV=start.sh")
	var made [][]byte
	c.permit = func(method string, message []byte) any {
		switch method {
		case "terminal/create":
			made = append(made, bytes.Clone(message))
			return map[string]any{"terminalId": "t"}
		case "terminal/wait_for_exit":
			return map[string]any{"exitCode": 0}
		case "session/request_permission":
			return map[string]any{"outcome": map[string]any{"outcome": "selected",
				"optionId": "allow_once"}}
		}
		return map[string]any{}
	}
	c.prompt(c.session(dir), "go")
	c.end()
	if len(made) != 1 || !bytes.Contains(made[0], []byte("make x")) {
		t.Fatalf("terminals: %s", made)
	}
	for _, want := range []string{`{"name":"BASH_ENV","value":""}`, `{"name":"ENV","value":""}`,
		`{"name":"PATH","value":"/`} {
		if !strings.Contains(string(made[0]), want) {
			t.Errorf("want %s in %s", want, made[0])
		}
	}
}
