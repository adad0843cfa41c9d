package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp/mcptest"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

func TestMain(m *testing.M) {
	shell.MaybeHelper()
	mcptest.MaybeServe()
	testspeed.Parallel(6) // most tests wait for servers
	goleak.VerifyTestMain(m)
}

// patience limits waits on a busy machine. A passing test does not take that long.
const patience = 5 * time.Minute

type world struct {
	hub     *Hub
	notices chan string
	changed chan struct{}
}

// start starts a hub with one server for each mode. Each server is named after its mode.
func start(t *testing.T, modes ...string) *world {
	t.Helper()
	runner, err := shell.New(shell.Options{SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{notices: make(chan string, 100), changed: make(chan struct{}, 100)}
	w.hub = New(Options{Runner: runner,
		Notice:  func(_, text string) { w.notices <- text },
		Changed: func() { w.changed <- struct{}{} },
		Elicit: func(context.Context, Elicitation) (string, map[string]any) {
			return "decline",
				nil
		},
	})
	t.Cleanup(func() { w.hub.Close(); runner.Close() })
	var confs []Config
	for _, m := range modes {
		confs = append(confs, Config{Name: m, Command: os.Args[0],
			Env: append(os.Environ(), mcptest.Variable+"="+m)})
	}
	w.hub.Configure(confs)
	return w
}

// settle waits until each server is ready or has failed once, or until ctx ends.
func (h *Hub) settle(ctx context.Context) error {
	for _, s := range h.sorted() {
		select {
		case <-s.settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (w *world) settle(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := w.hub.settle(ctx); err != nil {
		t.Fatal(err)
	}
}

func (w *world) tool(t *testing.T, name string) tool.Tool {
	t.Helper()
	for _, tl := range w.hub.Tools() {
		if tl.Spec().Name == name {
			return tl
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

func (w *world) call(t *testing.T, name, args string) (*tool.Result, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	return agenttest.Run(ctx, w.tool(t, name), &tool.Call{Args: json.RawMessage(args)})
}

func TestMCPTools(t *testing.T) {
	t.Parallel()
	w := start(t, "plain")
	w.settle(t)
	for _, c := range []struct{ args, text string }{
		{`{"text":"hello"}`, "hello"}, {`{"text":"image"}`, "[image, image/png]"},
		{`{"text":"ask"}`, "decline map[]"},
	} {
		res, err := w.call(t, "plain_echo", c.args)
		if err != nil || res.Text != c.text || res.IsError {
			t.Errorf("%s: got %+v, %v", c.args, res, err)
		}
	}
	res, err := w.call(t, "plain_echo", `{"text":"fail"}`)
	if err != nil || !res.IsError || !strings.Contains(res.Text, "the text is wrong") {
		t.Errorf("a failing tool: %+v, %v", res, err)
	}
	if res, err = w.call(t, "plain_echo",
		fmt.Sprintf(`{"text":"big %d"}`, mcptest.Big)); err != nil || len(res.Text) != mcptest.Big {
		t.Errorf("%d bytes: %v", mcptest.Big, err)
	}
	if res, err = w.call(t, "plain_resources", `{"uri":"mem://note"}`); err != nil ||
		!strings.Contains(res.Text, "remember") {
		t.Errorf("resource: %+v, %v", res, err)
	}
	if ps := w.hub.Prompts(t.Context()); len(ps) != 1 || ps[0].Name != "review" ||
		ps[0].Args[0] != "what" {
		t.Errorf("prompts: %+v", ps)
	}
	if text, err := w.hub.Expand(t.Context(), "plain", "review", []string{"main.go"}); err != nil ||
		text != "Review main.go" {
		t.Errorf("prompt: %q, %v", text, err)
	}
}

func TestMCPProgressAndCancel(t *testing.T) {
	w := start(t, "plain")
	w.settle(t)
	seen := make(chan string, 10)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := agenttest.Run(ctx, w.tool(t, "plain_echo"),
			&tool.Call{Args: json.RawMessage(`{"text":"wait"}`),
				Output: func(s string) { seen <- s }})
		done <- err
	}()
	if got := <-seen; got != "0 waiting\n" {
		t.Errorf("progress %q", got)
	}
	cause := fmt.Errorf("the user aborted")
	cancel(cause)
	if err := <-done; err != cause {
		t.Errorf("a cancelled call: %v", err)
	}
}

// When the result of a call arrives, the tools that the call added are already available, and those
// that it removed are gone.
func TestMCPToolListChanged(t *testing.T) {
	w := start(t, "plain")
	w.settle(t)
	for _, change := range []string{"more", "less"} {
		if _, err := w.call(t, "plain_echo", `{"text":"`+change+`"}`); err != nil {
			t.Fatal(err)
		}
	}
	if !hasTool(w, "plain_later") || hasTool(w, "plain_look") {
		t.Errorf("after the changes: %s", names(w))
	}
}

// If a server exits while its tools are being listed again, the only notice is that it exited.
func TestMCPEndWhileToolsAreListed(t *testing.T) {
	t.Parallel()
	w := start(t, "fickle")
	w.settle(t)
	if _, err := w.call(t, "fickle_echo", `{"text":"more"}`); err == nil {
		t.Error("the call of a server that died succeeded")
	}
	if text := <-w.notices; strings.Contains(text, "listing its tools") {
		t.Errorf("notice: %s", text)
	}
}

// If a server fails, the notice contains its name. Other servers are not delayed.
func TestMCPFailures(t *testing.T) {
	w := start(t, "exit", "greets", "plain")
	w.settle(t)
	if text := <-w.notices; !strings.Contains(text, "MCP server exit") ||
		!strings.Contains(text, "no license found") {
		t.Errorf("notice: %s", text)
	}
	for _, name := range []string{"greets_echo", "plain_echo"} {
		if res, err := w.call(t, name, `{"text":"x"}`); err != nil || res.Text != "x" {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	if st := w.hub.Status(); st[0].State != "failed" || st[1].State != "ready" {
		t.Errorf("status: %+v", st)
	}
}

// If a server dies during a call, the call fails and the server is restarted.
func TestMCPRestart(t *testing.T) {
	t.Parallel()
	w := start(t, "plain")
	w.settle(t)
	if _, err := w.call(t, "plain_echo", `{"text":"die"}`); err == nil {
		t.Error("the call of a server that died succeeded")
	}
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		for _, tl := range w.hub.Tools() {
			if tl.Spec().Name == "plain_echo" {
				if res, err := agenttest.Run(t.Context(), tl,
					&tool.Call{Args: json.RawMessage(`{"text":"again"}`)}); err == nil &&
					res.Text == "again" {
					return
				}
			}
		}
		select {
		case <-w.changed:
		case <-time.After(time.Second):
		}
	}
	t.Error("the server was not restarted")
}

// If a server does not answer initialize or does not list its tools within the time limit, it is
// named in a notice and stopped.
func TestMCPListTimeout(t *testing.T) {
	for _, mode := range []string{"hang", "unlisted"} {
		t.Run(mode, func(t *testing.T) {
			w := start(t)
			w.hub.opts.listTimeout = 200 * time.Millisecond
			w.hub.Configure([]Config{{Name: "slow", Command: os.Args[0],
				Env: append(os.Environ(), mcptest.Variable+"="+mode)}})
			if text := <-w.notices; !strings.Contains(text,
				"MCP server slow: no answer within 200ms") {
				t.Error(text)
			}
			w.settle(t)
			if st := w.hub.Status(); st[0].State != "failed" {
				t.Errorf("%+v", st)
			}
		})
	}
	if ListTimeout != 30*time.Second || CallTimeout != 5*time.Minute {
		t.Error("the limits differ from the documented ones")
	}
}

// The limits in docs/reference/tools.md match the code.
func TestMCPDocumentedLimits(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	words := map[int]string{5: "five"}
	for _, want := range []string{
		fmt.Sprintf("The servers start in the background, %d at a time", maxStarting),
		fmt.Sprintf("a server never waits longer than %.0f s for this reason", holdLimit.Seconds()),
		fmt.Sprintf(
			"started again after a pause between %.0f s and %.0f min. If a server ends within a "+
				"minute of its start %s times in a row",
			firstBackoff.Seconds(), maxBackoff.Minutes(), words[maxStarts],
		),
		fmt.Sprintf("a server that is restarting waits for up to %.0f s", restartWait.Seconds()),
		fmt.Sprintf("A call may take %.0f minutes (`timeoutMs`).", CallTimeout.Minutes()),
		fmt.Sprintf("listing its tools may take %.0f s.", ListTimeout.Seconds()),
		fmt.Sprintf(
			"A message may be at most %d MiB long and contain at most %d million JSON values.",
			maxLine>>20, maxValues/1_000_000,
		),
		fmt.Sprintf(
			"A tool description is cut at %d KB, and a list of resources at %d entries.",
			maxDescription>>10, maxResources,
		),
		fmt.Sprintf("A server with more than %d,%03d tools", maxTools/1000, maxTools%1000),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/reference/tools.md does not say: %s", want)
		}
	}
}

// A change to the allowed tools of a running server takes effect immediately, without a restart.
func TestMCPAllowedTools(t *testing.T) {
	w := start(t, "plain")
	w.settle(t)
	session := w.hub.sorted()[0].session
	conf := w.hub.sorted()[0].conf
	conf.Allowed = func(tool string) bool { return tool == "look" }
	w.hub.Configure([]Config{conf})
	if got := names(w); got != " plain_look plain_resources" {
		t.Errorf("tools:%s", got)
	}
	conf.Allowed = nil
	w.hub.Configure([]Config{conf})
	if got := names(w); !strings.Contains(got, " plain_echo ") {
		t.Errorf("tools:%s", got)
	}
	if w.hub.sorted()[0].session != session {
		t.Error("the server was started again")
	}
}

// Closing the hub stops a server that hangs in initialize.
func TestMCPHangingServerEndsWithHub(t *testing.T) {
	w := start(t, "hang")
	if len(w.hub.Tools()) != 0 {
		t.Error("a hanging server has tools")
	}
	w.hub.Close()
}

func TestMCPMissingCommand(t *testing.T) {
	w := start(t)
	w.hub.Configure([]Config{{Name: "gone", Command: "/does/not/exist"}})
	w.settle(t)
	if text := <-w.notices; !strings.Contains(text, "MCP server gone") {
		t.Error(text)
	}
}

func TestMCPUnreachable(t *testing.T) {
	w := start(t)
	w.hub.Configure([]Config{{Name: "far", URL: "http://127.0.0.1:1/mcp"}})
	w.settle(t)
	text := <-w.notices
	if !strings.HasPrefix(text, "MCP server far: http://127.0.0.1:1/mcp cannot be reached: dial tcp") || !strings.Contains(text, "mcpServers.far.url") {
		t.Error(text)
	}
}

// If the name of one server is a prefix of another's, the tools of both still have distinct names,
// whichever server starts first.
func TestServersThatBeginAlikeShareNoName(t *testing.T) {
	t.Parallel()
	plain := append(os.Environ(), mcptest.Variable+"=plain")
	one, other := Config{Name: "a", Command: os.Args[0],
		Env: append(os.Environ(), mcptest.Variable+"=tool=b_echo")},
		Config{Name: "a_b", Command: os.Args[0], Env: plain}
	w := with(t, Options{}, one, other)
	owner := map[string]string{}
	for _, tl := range w.hub.Tools() {
		s := tl.Spec()
		if owner[s.Name] != "" {
			t.Errorf("%s is a tool of %s and of %s", s.Name, owner[s.Name], s.Source)
		}
		owner[s.Name] = s.Source
	}
	if owner["a_b_echo"] != "mcp:a_b" || owner["a_echo"] != "mcp:a" {
		t.Errorf("the tools are %s", names(w))
	}
	w.ask(t, toolName("a", "b_echo", "a_b"), `{}`, "here")
	w.hub.Configure([]Config{one})
	w.settle(t)
	w.ask(t, "a_b_echo", `{}`, "here")
}

func TestToolName(t *testing.T) {
	if got := toolName("git", "commit"); got != "git_commit" {
		t.Error(got)
	}
	long, odd := toolName("s", strings.Repeat("x", 100)), toolName("a.b", "c d")
	if len(long) > maxName || odd == toolName("a_b", "c_d") || strings.ContainsAny(odd, ". ") {
		t.Error(long, odd)
	}
}
