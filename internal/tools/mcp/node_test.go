package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// nodeServer returns the path of a server script that scripts/setup.sh installs.
func nodeServer(t *testing.T, name string) string {
	t.Helper()
	if !testspeed.Full() {
		t.Skip("a server that runs on Node takes a second to start: use `make test`, AGENT_LSP_FULL=1 or -run")
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	script := filepath.Join(cache, "agent-lsp-test", "node", "node_modules",
		"@modelcontextprotocol", name, "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing: run scripts/setup.sh", script)
		}
		t.Skipf("%s is missing: run scripts/setup.sh", script)
	}
	return script
}

// with starts a hub with the given servers and waits until they are ready.
func with(t *testing.T, o Options, confs ...Config) *world {
	t.Helper()
	runner, err := shell.New(shell.Options{SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{notices: make(chan string, 100), changed: make(chan struct{}, 100)}
	o.Runner, o.Notice = runner, func(_, text string) { w.notices <- text }
	w.hub = New(o)
	t.Cleanup(func() { w.hub.Close(); runner.Close() })
	w.hub.Configure(confs)
	w.settle(t)
	for _, st := range w.hub.Status() {
		if st.State != "ready" {
			t.Fatalf("%+v", st)
		}
	}
	return w
}

// ask calls a tool and checks that the result contains the given texts.
func (w *world) ask(t *testing.T, name, args string, want ...string) *tool.Result {
	t.Helper()
	res, err := w.call(t, name, args)
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	for _, text := range want {
		if !strings.Contains(res.Text, text) {
			t.Errorf("%s %s: want %q in %s", name, args, text, clip.Bytes(res.Text, 1000))
		}
	}
	return res
}

// TestFilesystemServer reads and writes files with the public filesystem server, which requests the
// daemon's roots.
func TestFilesystemServer(t *testing.T) {
	t.Parallel()
	script := nodeServer(t, "server-filesystem")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("remember the milk\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	var folders atomic.Pointer[[]string]
	folders.Store(&[]string{dir})
	w := with(t, Options{Roots: func() (uris []string) {
		for _, f := range *folders.Load() {
			uris = append(uris, "file://"+filepath.ToSlash(f))
		}
		return uris
	}}, Config{Name: "files", Command: "node", Args: []string{script}, Env: os.Environ()})
	path := func(name string) string {
		b,
			_ := json.Marshal(filepath.Join(dir, name))
		return string(b)
	}
	w.allowed(t, dir) // the server requests the roots only after its start
	w.ask(t, "files_read_text_file", `{"path":`+path("note.txt")+`}`, "remember the milk")
	w.ask(t, "files_write_file", `{"path":`+path("new.txt")+`,"content":"written"}`, "Successfully")
	if b, err := os.ReadFile(filepath.Join(dir, "new.txt")); string(b) != "written" {
		t.Errorf("%q, %v", b, err)
	}
	w.ask(t, "files_directory_tree", `{"path":`+path("")+`}`, "note.txt", "new.txt")
	if res := w.ask(t, "files_read_text_file", `{"path":"/etc/passwd"}`, "denied"); !res.IsError {
		t.Error("a file outside was read")
	}
	for name, effect := range map[string]tool.Effect{"files_read_text_file": tool.ReadOnly,
		"files_write_file": tool.Mutates} {
		if got := w.tool(t, name).Spec().Effect; got != effect {
			t.Errorf("%s: effect %s", name, got)
		}
	}
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// First add a folder, and then remove another one.
	for _, list := range [][]string{{dir, other}, {other}} {
		folders.Store(&list)
		w.hub.RootsChanged()
		w.allowed(t, list...)
	}
}

// allowed waits until the filesystem server allows exactly the given folders.
func (w *world) allowed(t *testing.T, folders ...string) {
	t.Helper()
	want := "Allowed directories:\n" + strings.Join(folders, "\n")
	for deadline := time.Now().Add(patience); ; {
		res, err := w.call(t, "files_list_allowed_directories", `{}`)
		if err == nil && res.Text == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not know the roots %v: %+v, %v", folders, res, err)
		}
	}
}

// TestEverythingServer uses tools, resources, prompts, progress, cancellation and elicitation of
// the public everything server, over both transports.
func TestEverythingServer(t *testing.T) {
	t.Parallel()
	script := nodeServer(t, "server-everything")
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		everything(t, Config{Name: "all", Command: "node", Args: []string{script, "stdio"},
			Env: os.Environ()})
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		everything(t, Config{Name: "all", URL: "http://127.0.0.1:" + serveHTTP(t, script) + "/mcp"})
	})
}

// serveHTTP starts the server on a free port.
func serveHTTP(t *testing.T, script string) (port string) {
	t.Helper()
	port = freePort(t)
	cmd := exec.Command("node", script, "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), port) {
			go func() {
				for lines.Scan() { // otherwise the server blocks when the pipe is full
				}
			}()
			return port
		}
	}
	t.Fatal("the server exited before it listened")
	return ""
}

// freePort returns a port on which no process listens. The port is outside the range from which the
// system assigns ports, because another process could get a port in that range before the server
// listens.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(15000 + rand.IntN(15000))
		if l, err := net.Listen("tcp", ":"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

func everything(t *testing.T, c Config) {
	var asked []string
	w := with(t, Options{Roots: func() []string { return []string{"file:///somewhere"} },
		Elicit: func(_ context.Context, q Elicitation) (string, map[string]any) {
			asked = append(asked, q.Message)
			return "decline", nil
		}}, c)
	w.ask(t, "all_echo", `{"message":"hello"}`, "Echo: hello")
	w.ask(t, "all_get-sum", `{"a":2,"b":40}`, "42")
	w.ask(t, "all_get-structured-content", `{"location":"New York"}`, "temperature")
	if res := w.ask(t, "all_get-tiny-image", `{}`, "[image, image/png]"); len(res.Content) != 1 ||
		res.Content[0].MimeType != "image/png" || len(res.Content[0].Data) < 100 {
		t.Errorf("image: %+v", res.Content)
	}
	w.ask(t, "all_get-resource-links", `{"count":2}`, "[resource demo://")
	w.ask(t, "all_get-resource-reference", `{"resourceType":"Text","resourceId":1}`,
		"demo://resource/dynamic/text/1:")
	w.ask(t, "all_resources", `{}`, "demo://")
	if res, err := w.call(t, "all_get-sum", `{"a":"x"}`); err == nil && !res.IsError {
		t.Errorf("a wrong argument: %+v", res)
	}
	steps := make(chan string, 100)
	res, err := agenttest.Run(t.Context(), w.tool(t, "all_trigger-long-running-operation"),
		&tool.Call{Args: json.RawMessage(`{"duration":0.3,"steps":3}`),
			Output: func(s string) { steps <- s }})
	if err != nil || !strings.Contains(res.Text, "completed") {
		t.Errorf("long: %+v, %v", res, err)
	}
	if got := <-steps; !strings.HasPrefix(got, "1/3") {
		t.Errorf("progress %q", got)
	}
	abortsLong(t, w)
	text, err := w.hub.Expand(t.Context(), "all", "args-prompt", []string{"Paris"})
	if err != nil || !strings.Contains(text, "Paris") {
		t.Errorf("prompt: %q, %v", text, err)
	}
	if hasTool(w, "all_trigger-elicitation-request") {
		w.ask(t, "all_trigger-elicitation-request", `{}`, "declined")
		if len(asked) != 1 {
			t.Errorf("asked %q", asked)
		}
	} else {
		t.Errorf("it offers no elicitation: %s", names(w))
	}
}

// abortsLong cancels a call that would take ten minutes. Afterwards the server must handle the next
// call.
func abortsLong(t *testing.T, w *world) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("the user aborted")
	_, err := agenttest.Run(ctx, w.tool(t, "all_trigger-long-running-operation"), &tool.Call{
		Args:   json.RawMessage(`{"duration":600,"steps":6000}`),
		Output: func(string) { cancel(cause) }})
	if err != cause {
		t.Errorf("aborted: %v", err)
	}
	w.ask(t, "all_echo", `{"message":"still there"}`, "Echo: still there")
}

func hasTool(w *world, name string) bool { return strings.Contains(names(w)+" ", " "+name+" ") }

func names(w *world) (s string) {
	for _, tl := range w.hub.Tools() {
		s += " " + tl.Spec().Name
	}
	return s
}
