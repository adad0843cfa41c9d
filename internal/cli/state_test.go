package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/app"
)

// unwritable returns a state directory that this process cannot create, even if it runs as root, or
// "" if there is none.
func unwritable(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "locked")
	if err := os.Mkdir(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(dir, "state"), "/sys/state", "/proc/sys/state"} {
		if err := app.CheckState(dir); errors.Is(err, os.ErrPermission) ||
			errors.Is(err, syscall.EROFS) {
			return dir
		}
	}
	return ""
}

// If the state directory is not writable, a run keeps its files elsewhere and removes them when it
// ends.
func TestOwnStateGoesWithTheRun(t *testing.T) {
	dir, tmp := unwritable(t), t.TempDir()
	if dir == "" {
		return // every folder on this system is writable
	}
	t.Setenv("TMPDIR", tmp)
	t.Chdir(t.TempDir())
	put(t, "model.jsonl", `{"text":"hello"}`+"\n")
	env := []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "AGENT_LSP_STATE_DIR=" +
		dir, "AGENT_LSP_SCRIPT=model.jsonl"}
	out, errs, code := play(t, env, "run", "hello")
	if code != exitOK || !strings.Contains(errs, "cannot be written") || out != "hello\n" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "agent-lsp-*")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A change to the retention settings takes effect at the next model call. It removes a session that
// exceeds the new limits, but not an open session.
func TestRetentionCountsAtOnce(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	config, stored := filepath.Join(home, "config.json"),
		filepath.Join(home, "agent-lsp", "sessions", "*", "*.jsonl")
	put(t, config, `{}`)
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + home,
		"AGENT_LSP_CONFIG=" + config, "AGENT_LSP_SANDBOX=off", "AGENT_LSP_SCRIPT=model.jsonl"}
	sets := `{"toolCalls":[{"name":"bash","arguments":{"command":"echo '{\"sessions\":{\"maxBytes\":1}}' > ` + config + `"}}]}` + "\n"
	for i, script := range []string{done, sets + done} {
		put(t, "model.jsonl", script)
		out, errs, code := play(t, env, "run", "--permissions", "trust", "hello")
		if left, err := filepath.Glob(stored); code != exitOK || err != nil || len(left) != 1 {
			t.Errorf("run %d: exit code %d, stored %v\n%s%s", i+1, code, left, out, errs)
		}
	}
}

// Sessions from earlier runs that exceed the limits are removed after the first request to a model,
// not before.
func TestRetentionCountsForWhatWasLeft(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	config := filepath.Join(home, "config.json")
	put(t, config, `{}`)
	put(t, "model.jsonl", done+done)
	env := []string{"XDG_STATE_HOME=" + home, "AGENT_LSP_CONFIG=" + config,
		"AGENT_LSP_SCRIPT=model.jsonl"}
	if out, errs, code := play(t, append(env, "HOME="+home, "PATH="+os.Getenv("PATH"),
		"AGENT_LSP_STATE_DIR="+filepath.Join(home, "state")), "run", "hello"); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	left, err := filepath.Glob(filepath.Join(home, "state", "sessions", "*", "*.jsonl"))
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	put(t, config, `{"sessions":{"maxBytes":1}}`)
	c := startACPIn(t, filepath.Join(home, "state"), env...)
	id := c.session(dir)
	if _, err := os.Stat(left[0]); err != nil {
		t.Errorf("removed before the first request: %v", err)
	}
	c.prompt(id, "hello")
	// there is no notification when a file is removed, so poll
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(left[0]); errors.Is(err, os.ErrNotExist) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the session still exists")
		}
	}
	if code := c.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
