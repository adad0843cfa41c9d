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
