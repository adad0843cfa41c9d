package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

func TestMain(m *testing.M) {
	shell.MaybeHelper()
	os.Exit(testspeed.Run(m))
}

// harness is one session in a temporary workspace.
type harness struct {
	t      testing.TB
	root   string
	cwd    string // cwd of the calls; "" for the root
	ws     *workspace.Workspace
	set    *Set
	tools  []tool.Tool
	policy workspace.Policy
	ended  chan string // messages about jobs that have ended

	mu      sync.Mutex
	updates []tool.Update
	output  strings.Builder
	steer   chan string // text of a steer, which ends a wait for the user
}

func newHarness(t testing.TB, with ...func(*Deps)) *harness {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, root: root, policy: workspace.Auto, ended: make(chan string, 10),
		steer: make(chan string, 1)}
	h.ws = workspace.New(workspace.Options{})
	h.ws.SetRoots([]string{string(uri.File(root))})
	t.Cleanup(h.ws.Close)
	runner, err := shell.New(shell.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	jobs := NewJobs(func(_ Job, message string) { h.ended <- message })
	t.Cleanup(jobs.Close)
	// The spill folder is created when it is needed.
	d := Deps{Workspace: h.ws, Runner: runner, Jobs: jobs,
		SpillDir: filepath.Join(t.TempDir(), "spill")}
	for _, f := range with {
		f(&d)
	}
	h.set = New(d)
	t.Cleanup(h.set.Close)
	return h.session(func(*Session) {})
}

// session creates the tools again for a session with other options.
func (h *harness) session(with func(*Session)) *harness {
	s := Session{ID: "s1", Policy: func() workspace.Policy { return h.policy }}
	with(&s)
	h.tools = h.set.For(s)
	return h
}

// fetching adds the fetch tool to the session.
func (h *harness) fetching(o FetchOptions) *harness {
	return h.session(func(s *Session) { s.Fetch = func() FetchOptions { return o } })
}

// files writes files, given as "path: text", below the workspace.
func (h *harness) files(files ...string) *harness {
	h.t.Helper()
	for _, f := range files {
		name, text, _ := strings.Cut(f, ": ")
		path := filepath.Join(h.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			h.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
	return h
}

// open opens a file in the editor with the given text, which may differ from the file on disk.
func (h *harness) open(name, text string) {
	h.t.Helper()
	if err := h.ws.DidOpen(string(uri.File(filepath.Join(h.root, name))), "plaintext", 1,
		[]byte(text)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) disk(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.root, name))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(text)
}

func (h *harness) tool(name string) tool.Tool {
	h.t.Helper()
	for _, t := range h.tools {
		if t.Spec().Name == name || slices.Contains(t.Spec().Aliases, name) {
			return t
		}
	}
	h.t.Fatalf("there is no tool %s", name)
	return nil
}

// prepared prepares a call. If a is a string, it is used as the JSON of the arguments.
func (h *harness) prepared(tool string, a any) *tool.Prepared {
	h.t.Helper()
	call := h.call(a)
	if raw, ok := a.(string); ok {
		call.Args = json.RawMessage(raw)
	}
	p, err := h.tool(tool).Prepare(context.Background(), call)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

func (h *harness) call(args any) *tool.Call {
	raw, err := json.Marshal(args)
	if err != nil {
		h.t.Fatal(err)
	}
	return &tool.Call{
		ID: "c1", ItemID: "i1", SessionID: "s1", TurnID: "t1", Args: raw,
		Cwd: cmp.Or(h.cwd, h.root),
		Output: func(s string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.output.WriteString(s)
		},
		Update: func(u tool.Update) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.updates = append(h.updates, u)
		},
		Wait: func(ctx context.Context) (context.Context, context.CancelFunc) {
			wait, cancel := context.WithCancelCause(ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				select {
				case s := <-h.steer:
					cancel(&tool.SteerError{Text: s})
				case <-wait.Done():
				}
			}()
			// Wait for the goroutine, so that it does not receive a steer that is meant for the
			// next call.
			return wait, func() { cancel(nil); <-ended }
		},
	}
}

type args = map[string]any

// run runs a tool and returns the text that the model receives. Errors have the form "ERROR: …".
func (h *harness) run(name string, a args) string {
	h.t.Helper()
	return shownResult(h.result(name, a))
}

func shownResult(res *tool.Result, err error) string {
	switch {
	case err != nil:
		return "ERROR: " + err.Error()
	case res.IsError:
		return "ERROR: " + res.Text
	}
	return res.Text
}

func (h *harness) result(name string, a args) (*tool.Result, error) {
	h.t.Helper()
	tool := h.tool(name)
	// If the tool is called by one of its aliases, rename the parameters as the engine does.
	if spec := tool.Spec(); spec.Name != name {
		renamed := args{}
		for k, v := range a {
			if real := spec.ParamAliases[k]; real != "" {
				k = real
			}
			renamed[k] = v
		}
		a = renamed
	}
	return agenttest.Run(context.Background(), tool, h.call(a))
}

// want checks that a result contains each of the pieces. A piece with the prefix "!" must not
// occur.
func want(t testing.TB, got string, pieces ...string) {
	t.Helper()
	for _, p := range pieces {
		if not, ok := strings.CutPrefix(p, "!"); ok {
			if strings.Contains(got, not) {
				t.Errorf("unwanted %q in\n%s", not, got)
			}
		} else if !strings.Contains(got, p) {
			t.Errorf("missing %q in\n%s", p, got)
		}
	}
}

// numbered returns n lines: "line 1", "line 2" and so on.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
