//go:build unix

package cli

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The complete output of a command is stored without secrets, like everything else that agent-lsp
// stores about a session.
func TestStoredOutputsHoldNoSecret(t *testing.T) {
	home, ws := t.TempDir(), t.TempDir()
	secrets := []string{"my-own-key-0123456789", "ghp_" + strings.Repeat("a", 36),
		"MIIEprivatekey"}
	private := "-----BEGIN RSA PRIVATE KEY-----\nMIIEprivatekey\n-----END RSA PRIVATE KEY-----"
	line := strings.Repeat("an ordinary line\n", 3000)
	put(t, filepath.Join(ws, "a.txt"), strings.Join([]string{line, secrets[0], secrets[1],
		private, line}, "\n"))
	model := filepath.Join(home, "model.jsonl")
	put(t, model, `{"toolCalls": [{"name": "bash", "arguments": {"command": "cat a.txt"}}]}`+"\n"+
		`{"expect": {"lastTool": "the full output is in"}, "text": "Done."}`+"\n")
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "AGENT_LSP_SCRIPT=" + model,
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "OPENAI_API_KEY=" + secrets[0]}
	t.Chdir(ws)
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"run", "--permissions", "trust", "x"}, env,
		strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, &out, &errs)
	}
	outputs := 0
	err := filepath.WalkDir(filepath.Join(home, "state"),
		func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, secret := range secrets {
				if bytes.Contains(text, []byte(secret)) {
					t.Errorf("%s holds %s", path, secret)
				}
			}
			if bytes.Count(text, []byte("an ordinary line\n")) == 6000 {
				outputs++
			}
			return err
		})
	if err != nil || outputs != 1 {
		t.Errorf("%d complete outputs, %v", outputs, err)
	}
}

// A recording, which the user may attach to a bug report, contains no file that the agent could not
// read, and no secret file behind a link.
func TestRecordingsHoldNothingRefused(t *testing.T) {
	home, ws := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"a.txt": "recorded\n", ".env": "never 1\n", "private/a.txt": "never 2\n",
		"../outside.txt": "never 3\n", ".agent-lsp.json": `{"permissions": {"rules": ["deny ` +
			`read(private/**)"]}}`,
	} {
		mustStore(t, filepath.Join(ws, "w", name), []byte(text))
	}
	ws = filepath.Join(ws, "w")
	var calls []string
	for name, target := range map[string]string{"link": ".env", "out": "../outside.txt"} {
		if err := os.Symlink(target, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(ws, ".env"), filepath.Join(ws, "hard")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", ".env", "link", "out", "hard", "private/a.txt"} {
		calls = append(calls, `{"name": "read", "arguments": {"path": "`+name+`"}}`)
	}
	model := filepath.Join(home, "model.jsonl")
	put(t, model, `{"toolCalls": [`+strings.Join(calls, ", ")+"]}\n"+
		`{"expect": {"notSent": "never"}, "text": "Done."}`+"\n")
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "AGENT_LSP_SCRIPT=" + model,
		"XDG_STATE_HOME=" + filepath.Join(home, "state")}
	t.Chdir(ws)
	program := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, env, strings.NewReader(""), &out,
			&errs); code != exitOK {
			t.Fatalf("exit code %d\n%s%s", code, &out, &errs)
		}
		return out.String()
	}
	program("run", "x")
	file := filepath.Join(home, "bug.txtar")
	program("sessions", "export", strings.Fields(program("sessions", "list"))[0],
		"--record", file)
	text, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(text, []byte("recorded\n")) ||
		bytes.Contains(text, []byte("never ")) {
		t.Errorf("%v\n%s", err, text)
	}
}
