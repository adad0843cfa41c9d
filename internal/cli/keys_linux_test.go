package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/script"
)

// callsACommand is a reply that runs a command. The command waits until the test has checked all
// processes.
const callsACommand = `{"toolCalls": [{"name": "bash", "arguments": {"command": ` +
	`"env; touch started; until [ -e seen ]; do sleep 0.02; done"}}]}`

// newEchoing returns an endpoint for every API. Its second answer to a prompt calls a tool. All
// other answers are errors that contain the request's key.
func newEchoing(t *testing.T, want string) *httptest.Server {
	played, err := script.Load(strings.NewReader(callsACommand))
	if err != nil {
		t.Fatal(err)
	}
	fake, err := script.Serve(played)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fake.Close() })
	to, err := url.Parse(strings.TrimSuffix(fake.URL(), "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	var prompts atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") +
			r.Header.Get("X-Goog-Api-Key")
		if !strings.Contains(key, want) {
			t.Errorf("%s was sent without the key", r.URL)
		}
		n := int32(3)
		if r.Method == http.MethodPost {
			n = prompts.Add(1)
		}
		if n == 2 {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("X-Key", key)
		status := http.StatusUnauthorized
		if n == 1 {
			status = http.StatusServiceUnavailable
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type": "error", "error": {"type": "api_error", "message": "no %s", `+
			`"details": [{"key": %q}]}}`, key, key)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestNoKeyIsShown uses, for each API, an endpoint that echoes the key in its errors. The key must
// not appear in any output, notification, log, stored file or support bundle, or in the arguments
// or environment of a process. The key comes from an environment variable or from a login.
func TestNoKeyIsShown(t *testing.T) {
	for _, api := range []string{"chat", "responses", "anthropic", "gemini"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			k := newKeyHunt(t, api)
			if stored := api == "responses" || api == "gemini"; stored {
				k.run(k.key+"\n", "login", "work", "--stdin")
			} else {
				k.env = append(k.env, "WORK_KEY="+k.key)
			}
			seen := k.lookAtProcesses()
			out := k.run("", "run", "--permissions", "trust", "--json", "--verbose", "--log-file",
				filepath.Join(k.home, "log"), "go on")
			close(seen)
			for _, part := range []string{`"kind":"overloaded"`, `"toolCalls":1`, `"kind":"auth"`} {
				if !strings.Contains(out, part) {
					t.Errorf("the run has no %s:\n%s", part, out)
				}
			}
			k.run("", "models")
			k.run("", "doctor")
			bundle := filepath.Join(k.home, "bug.tar.gz")
			k.run("", "bundle", "--log", filepath.Join(k.home, "log"), bundle)
			for name, text := range unpack(t, bundle) {
				k.check("the bundle's "+name, []byte(text))
			}
			k.files()
		})
	}
}

// keyHunt is a home folder and a workspace in which commands run.
type keyHunt struct {
	t          *testing.T
	key        string
	home, work string
	env        []string
}

func newKeyHunt(t *testing.T, api string) *keyHunt {
	k := &keyHunt{t: t, home: t.TempDir(), work: t.TempDir()}
	// The key matches no pattern for secrets. Each test has a different key, because the processes
	// of parallel tests briefly show their environment when they start.
	k.key = "recognizable-4711-of-" + api
	file := filepath.Join(k.home, "config.json")
	put(t, file, `{"model": "work/m", "retry": {"initialDelayMs": 1}, "providers": {"work": {`+
		`"baseUrl": "`+newEchoing(t, k.key).URL+`/v1", "api": "`+api+
		`", "apiKeyEnv": "WORK_KEY"}}}`)
	k.env = []string{
		envRunMain + "=" + runMainHidden, "HOME=" + k.home, "PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + k.home + "/state", "XDG_CACHE_HOME=" + k.home + "/cache",
		"AGENT_LSP_CONFIG=" + file, "AGENT_LSP_KEYRING=file", "AGENT_LSP_SANDBOX=off",
	}
	return k
}

// run runs the program and returns its output, after checking that the output does not contain the
// key.
func (k *keyHunt) run(input string, args ...string) string {
	k.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.CommandContext(k.t.Context(), exe, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = k.work, k.env, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		k.t.Fatal(err)
	}
	k.check(args[0], out)
	return string(out)
}

func (k *keyHunt) check(what string, text []byte) {
	k.t.Helper()
	if i := bytes.Index(text, []byte(k.key)); i >= 0 {
		k.t.Errorf("%s has the key: %q", what, text[max(0, i-200):min(len(text), i+100)])
	}
}

// lookAtProcesses checks all processes while the tool's command is running, and then lets the
// command finish. The caller must close the returned channel when the program has exited.
func (k *keyHunt) lookAtProcesses() chan<- struct{} {
	over, looked := make(chan struct{}), make(chan struct{})
	k.t.Cleanup(func() { <-looked })
	go func() {
		defer close(looked)
		for { // there is no notification when a file is created, so poll
			if _, err := os.Stat(filepath.Join(k.work, "started")); err == nil {
				break
			}
			select {
			case <-over:
				k.t.Error("the command did not run")
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		for _, name := range []string{"cmdline", "environ"} {
			files, _ := filepath.Glob("/proc/[0-9]*/" + name)
			for _, file := range files {
				if text, err := os.ReadFile(file); err == nil { // the process may have exited
					k.check(file, text)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(k.work, "seen"), nil, 0o600); err != nil {
			k.t.Error(err)
		}
	}()
	return over
}

// files checks that no file in the home folder or the workspace contains the key, except the file
// for stored keys.
func (k *keyHunt) files() {
	read := 0
	for _, dir := range []string{k.home, k.work} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || e.Name() == "keys.json" {
				return err
			}
			text, err := os.ReadFile(path)
			k.check(path, text)
			read++
			return err
		})
		if err != nil {
			k.t.Error(err)
		}
	}
	if read < 5 {
		k.t.Errorf("only %d files were read", read)
	}
}

// If an endpoint includes the key in its reply, no file contains the key, even if the name of its
// variable does not look like the name of a secret.
func TestKeyInAReplyIsNotStored(t *testing.T) {
	k := newKeyHunt(t, "chat")
	server := modeltest.Play(t, `{"reasoning": "I know `+k.key+`.", "text": "It is `+k.key+`.", `+
		`"toolCalls": [{"name": "bash", "arguments": {"command": "echo `+k.key+`; env"}}]}`,
		`{"text": "Said."}`)
	put(t, filepath.Join(k.home, "config.json"), `{"model": "work/m", "providers": {"work": {`+
		`"baseUrl": "`+server.URL()+`", "apiKeyEnv": "WORK_ACCESS"}}}`)
	k.env = append(k.env, "WORK_ACCESS="+k.key)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "run", "--permissions", "trust", "--json",
		"--verbose", "--log-file", filepath.Join(k.home, "log"), "go on")
	cmd.Dir, cmd.Env = k.work, k.env
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("TMPDIR=")) ||
		bytes.Contains(out, []byte("WORK_ACCESS=")) {
		t.Errorf("the run failed, or the command sees the key's variable: %v\n%s", err, out)
	}
	k.files()
}
