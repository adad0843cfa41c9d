package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// envEditor is the variable that makes this test binary act as an editor. The editor starts the
// daemon, sends it a prompt, and waits.
const envEditor = "AGENT_LSP_TEST_EDITOR"

// deathOf describes the daemon that the test editor starts and leaves behind when it is killed.
type deathOf struct {
	Daemon []string // command line of the daemon
	Init   json.RawMessage
	Prompt string
}

func init() { playEditor = maybeEditor }

// maybeEditor checks for envEditor. If it is set, maybeEditor starts the daemon that the variable
// describes, sends initialize and a prompt, and waits until it is killed.
func maybeEditor() {
	var d deathOf
	if json.Unmarshal([]byte(os.Getenv(envEditor)), &d) != nil {
		return
	}
	os.Unsetenv(envEditor)
	if err := d.play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}

// play starts the daemon with this process's stdin, which is a pipe. Descriptor 3 is the write end
// of that pipe.
func (d *deathOf) play() error {
	syscall.CloseOnExec(3)
	w := os.NewFile(3, "stdin of the daemon")
	cmd := exec.Command(d.Daemon[0], d.Daemon[1:]...)
	cmd.Env, cmd.Stdin = append(os.Environ(), envRunMain+"=1"), os.Stdin
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	params := map[string]any{"processId": os.Getpid(), "capabilities": map[string]any{}}
	if err := json.Unmarshal(d.Init, &params); err != nil {
		return err
	}
	for i, m := range []map[string]any{
		{"method": "initialize", "params": params},
		{"method": "initialized", "params": map[string]any{}},
		{"method": "agent/prompt", "params": map[string]any{"prompt": d.Prompt}},
	} {
		m["jsonrpc"] = "2.0"
		if i != 1 {
			m["id"] = i + 1
		}
		body, _ := json.Marshal(m)
		fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	_, err = io.Copy(io.Discard, out)
	return err
}

// TestNoOrphansAfterTheEditorsDeath kills the editor with SIGKILL while a command, an MCP server
// and processes that escaped from both are running. In one case this closes the daemon's stdin; in
// another, only the daemon's parent process ends. No process may remain.
func TestNoOrphansAfterTheEditorsDeath(t *testing.T) {
	t.Parallel()
	escape := "setsid nohup sleep NUMBER >/dev/null 2>&1 & (setsid sh -c 'trap \"\" TERM HUP; (sleep NUMBER &); sleep NUMBER' &); sleep 0.2; touch ready; sleep NUMBER"
	for name, c := range map[string]struct {
		sandbox, profile string
		leak             bool // another process keeps the write end of stdin open
	}{
		"stdin ends":          {"off", "trust", false},
		"in the sandbox":      {"require", "workspace", false},
		"only its death says": {"off", "trust", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ws := filepath.Join(dir, "ws")
			number := fmt.Sprintf("1000.%d%d", os.Getpid(), time.Now().UnixNano())
			command := strings.ReplaceAll(escape, "NUMBER", number)
			model, _ := json.Marshal(
				map[string]any{
					"toolCalls": []any{
						map[string]any{
							"name":      "bash",
							"arguments": map[string]any{"command": command},
						},
					},
				},
			)
			mustStore(t, filepath.Join(dir, "model.jsonl"), append(model, '\n'))
			mustStore(t, filepath.Join(ws, "a.txt"), []byte("a\n"))
			params := map[string]any{"rootUri": "file://" + ws,
				"initializationOptions": map[string]any{
					"permissions": map[string]any{"profile": c.profile}, "sandbox": c.sandbox,
					"mcpServers": map[string]any{"slow": map[string]any{"command": "sh",
						"args": []string{"-c", "setsid sleep " + number + " & sleep " + number}}},
				}}
			if !c.leak {
				params["processId"] = nil // now only the end of stdin shows that the client exited
			}
			init, _ := json.Marshal(params)
			exe, _ := os.Executable()
			play, _ := json.Marshal(deathOf{Daemon: []string{exe, "serve", "--script",
				filepath.Join(dir, "model.jsonl")}, Init: init, Prompt: "x"})
			mark := envMark + "=" + number
			editor := exec.Command(exe)
			editor.Env = append(os.Environ(), envEditor+"="+string(play), mark, "HOME="+dir,
				"XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+
					filepath.Join(dir, "config"))
			log := new(logBuffer)
			r, w := pipe(t)
			defer w.Close()
			editor.Stdin, editor.Stderr, editor.ExtraFiles = r, log, []*os.File{w}
			if err := editor.Start(); err != nil {
				t.Fatal(err)
			}
			r.Close()
			if !c.leak {
				w.Close()
			}
			waitForFile(t, filepath.Join(ws, "ready"), log)
			// there is no notification when a process starts, so poll
			end := time.Now().Add(endPatience)
			for ; naming(number) < 4; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("only %d processes are running, so the test checks nothing",
						naming(number))
				}
			}
			if err := editor.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = editor.Wait()
			for end := time.Now().Add(endPatience); naming(number) > 0 &&
				time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			}
			if n := naming(number); n > 0 {
				t.Errorf("%d processes of the command are left", n)
			}
			wantNoneLeft(t, mark)
		})
	}
}

func waitForFile(t *testing.T, path string, log *logBuffer) {
	t.Helper()
	end := time.Now().Add(endPatience)
	for ; time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s did not appear; stderr:\n%s", path, log.String())
}

// naming counts the processes, except this one, whose command line contains text.
func naming(text string) (n int) {
	for _, pid := range processes() {
		if b, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline")); err == nil &&
			bytes.Contains(b, []byte(text)) {
			n++
		}
	}
	return n
}
