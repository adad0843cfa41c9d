package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
)

// A single command converts a session that read and edited files into a test. The recording
// contains the files in their original state, and the test passes in any folder.
func TestARecordedSessionIsATest(t *testing.T) {
	home, ws := t.TempDir(), t.TempDir()
	if real, err := filepath.EvalSymlinks(ws); err == nil {
		ws = real
	}
	for name, text := range map[string]string{
		"main.txt": "one\ntwo $HOME\nthree\n", "sub/read.txt": "only read\n",
		"no-newline.txt": "old end", ".env": "KEY=never recorded\n",
		"script": "named like a section\n", "marker.txt": "a\n-- b --\nc\n", "blob.bin": "\x00\x01",
		"untouched.txt": "x\n",
	} {
		mustStore(t, filepath.Join(ws, filepath.FromSlash(name)), []byte(text))
	}
	model := strings.Join([]string{
		`{"text": "I read.", "toolCalls": [{"name": "read", "arguments": {"path": "main.txt"}}, ` +
			`{"name": "read", "arguments": {"file_path": "` + ws + `/sub/read.txt"}}, {"name": ` +
			`"read", "arguments": {"path": "marker.txt"}}, {"name": "read", "arguments": ` +
			`{"path": "script"}}, {"name": "read", "arguments": {"path": "blob.bin"}}, {"name": ` +
			`"read", "arguments": {"path": ".env"}}]}`,
		`{"toolCalls": [{"name": "edit", "arguments": {"path": "main.txt", "old_string": "two ` +
			`$HOME", "new_string": "2 $HOME"}}, {"name": "read", "arguments": {"path": ` +
			`"no-newline.txt"}}]}`,
		`{"toolCalls": [{"name": "edit", "arguments": {"path": "no-newline.txt", "old_string": ` +
			`"old end", "new_string": "new end"}}, {"name": "write", "arguments": {"path": ` +
			`"made.txt", "content": "made\n"}}]}`,
		`{"text": "Done for $5."}`, `{"text": "Again."}`,
	}, "\n")
	mustStore(t, filepath.Join(home, "model.jsonl"), []byte(model))
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" +
		filepath.Join(home, "state"), "AGENT_LSP_SCRIPT=" + filepath.Join(home, "model.jsonl"),
		envRunMain + "=1"}
	program := func(args ...string) string {
		t.Helper()
		exe, _ := os.Executable()
		cmd := exec.Command(exe, args...)
		cmd.Env, cmd.Dir = env, ws
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("agent-lsp %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	program("run", "--permissions", "trust", "cost of $5 in "+ws)
	id := strings.Fields(program("sessions", "list"))[0]
	file := filepath.Join(t.TempDir(), "bug.txtar")
	program("sessions", "export", id, "--record", file)
	if err := os.RemoveAll(ws); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); strings.Contains(s, "never recorded") || strings.Contains(s, ws) ||
		strings.Contains(s, "untouched") || !strings.Contains(s, "Skipped blob.bin: binary file") {
		t.Errorf("the recording contains too much, or does not say what it omits:\n%s", s)
	}
	whole := strings.Replace(string(text), "\nwait\n",
		"\nwait {\"status\": \"completed\", \"modelCalls\": 4, \"toolErrors\": 2}\n"+
			"cmp main.txt \"one\\n2 $$HOME\\nthree\\n\"\ncmp no-newline.txt \"new end\"\ncmp made.txt \"made\\n\"\ncmp marker.txt \"a\\n-- b --\\nc\\n\"\ncmp sub/read.txt \"only read\\n\"\n", 1)
	mustStore(t, file, []byte(whole))
	script, err := rpctest.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	script.Run(t, startProcess, false)
}

func mustStore(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The trust command stores an answer, and without an answer shows the stored one.
func TestTrustByCommand(t *testing.T) {
	env := []string{"HOME=" + t.TempDir()}
	ws := t.TempDir()
	for _, step := range []struct{ answer, says string }{
		{"", "not decided"}, {"yes", "trusted, its"}, {"", "trusted, its"}, {"no", "not trusted"},
		{"ask", "not decided"},
	} {
		args := []string{"trust", "--workspace", ws}
		if step.answer != "" {
			args = append(args, step.answer)
		}
		out, errs, code := play(t, env, args...)
		if code != exitOK || !strings.Contains(out, ": "+step.says) {
			t.Errorf("%q: %s%s", step.answer, out, errs)
		}
	}
	if _, _, code := play(t, env, "trust", "perhaps"); code != exitUsage {
		t.Errorf("an unknown answer: exit code %d", code)
	}
}
