package rpc

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/editor"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// plainEdit returns a plain LSP client whose agent has proposed two hunks for a.txt.
func plainEdit(t *testing.T) (c *testClient, uri, path string) {
	t.Helper()
	root := t.TempDir()
	path = filepath.Join(root, "a.txt")
	if err := os.WriteFile(path, []byte(tenLines), 0o600); err != nil {
		t.Fatal(err)
	}
	c = start(
		t,
		harnessOptions{
			root:  root,
			model: callsOnce("edit"),
			tools: []tool.Tool{editTool(func() *agentapi.Core { return c.core }, "a.txt")},
		},
	)
	c.initialize(root, nil)
	c.execute("agent.prompt", map[string]any{"text": "edit"})
	uri = agentapi.PathToURI(path)
	c.wait("hints", isHints(uri, 2))
	return c, uri, path
}

func (c *testClient) execute(command string, args ...any) json.RawMessage {
	c.t.Helper()
	var out json.RawMessage
	c.call("workspace/executeCommand", map[string]any{"command": command, "arguments": args}, &out)
	return out
}

func isHints(uri string, n int) func(msg) bool {
	return func(m msg) bool {
		var p struct {
			URI         string
			Diagnostics []json.RawMessage
		}
		return m.Method == "textDocument/publishDiagnostics" &&
			json.Unmarshal(m.Params, &p) == nil &&
			p.URI == uri &&
			len(p.Diagnostics) == n
	}
}

func TestPlainClientsDecideByLenses(t *testing.T) {
	c, uri, path := plainEdit(t)
	var lenses []struct{ Command editor.Command }
	c.call(
		"textDocument/codeLens",
		map[string]any{"textDocument": map[string]any{"uri": uri}},
		&lenses,
	)
	if len(lenses) != 6 || !strings.HasPrefix(lenses[0].Command.Title, "Accept") {
		t.Fatalf("lenses: %+v", lenses)
	}
	c.execute(lenses[0].Command.Command, lenses[0].Command.Arguments...)
	c.wait("one hint", isHints(uri, 1))
	c.execute("agent.reject")
	c.wait("no hint", isHints(uri, 0))
	got, err := os.ReadFile(path)
	if want := strings.Replace(tenLines, "one", "ONE", 1); err != nil || string(got) != want {
		t.Errorf("the file holds %q (%v)", got, err)
	}
	c.execute("agent.undoLast")
	if got, _ := os.ReadFile(path); string(got) != tenLines {
		t.Errorf("after agent.undoLast the file contains %q", got)
	}
}

// Changes made only by commands cannot be undone with a checkpoint. "Undo last" then undoes the
// last change that has a checkpoint.
func TestUndoLastPassesByWhatOnlyCommandsChanged(t *testing.T) {
	c, _, path := plainEdit(t)
	c.execute("agent.acceptAll")
	accepted, err := os.ReadFile(path)
	if err != nil || string(accepted) == tenLines {
		t.Fatalf("after accepting, the file contains %q (%v)", accepted, err)
	}
	id := c.server.api.Current()
	c.call(
		wire.MethodTurnWait,
		map[string]any{"sessionId": id},
		nil,
	) // wait until the turn has ended
	command := c.core.Workspace.BeginCommand(id, "turn_later")
	const line = "of a command\n"
	if err := os.WriteFile(path, []byte(string(accepted)+line), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed := command.End(); len(changed) != 1 {
		t.Fatalf("the command changed %v", changed)
	}
	c.execute("agent.undoLast")
	if got, _ := os.ReadFile(path); string(got) != tenLines+line {
		t.Errorf("after agent.undoLast the file contains %q", got)
	}
}

func TestCodeActions(t *testing.T) {
	c, uri, _ := plainEdit(t)
	line := func(from, to int) map[string]any {
		return map[string]any{
			"start": map[string]any{"line": from, "character": 0},
			"end":   map[string]any{"line": to, "character": 0},
		}
	}
	titles := func(params map[string]any) string {
		params["textDocument"] = map[string]any{"uri": uri}
		var actions []editor.Command
		c.call("textDocument/codeAction", params, &actions)
		var out []string
		for _, a := range actions {
			if a.Command == "agent.prompt" || len(a.Arguments) > 0 {
				out = append(out, a.Title)
			}
		}
		return strings.Join(out, "; ")
	}
	ours := map[string]any{"range": line(4, 4), "message": "x", "source": "agent-lsp"}
	theirs := map[string]any{"range": line(4, 4), "message": "undefined: y", "severity": 1}
	// The client does not support code action literals, so it receives commands. Actions without a
	// position come last.
	got := titles(
		map[string]any{
			"range":   line(4, 4),
			"context": map[string]any{"diagnostics": []any{ours, theirs, 5}},
		},
	)
	if got != "Agent: fix undefined: y" {
		t.Errorf("on a diagnostic: %s", got)
	}
	if got = titles(map[string]any{"range": line(0, 0),
		"context": map[string]any{}}); !strings.Contains(
		got,
		"Accept the agent's change +1 -1; Reject",
	) {
		t.Errorf("on a hunk: %s", got)
	}
	if got = titles(map[string]any{"range": line(3, 5),
		"context": map[string]any{"only": []string{"refactor"}}}); !strings.HasPrefix(
		got,
		"Agent: explain this; ",
	) {
		t.Errorf("on a selection: %s", got)
	}
	c.execute("agent.rejectAll")
}

// The response to a prompt precedes the questions of its turn. This matters for eglot, which drops
// a question that is open when the response arrives.
func TestPromptOfEglotIsAnsweredFirst(t *testing.T) {
	for range 50 {
		var c *testClient
		asks := fakeModel(func(ctx context.Context, _ *agent.Request,
			_ func(agent.Delta)) (*agent.Reply, error) {
			q := host.Question{SessionID: c.server.api.Current(), Text: "Which?",
				Options: []host.Option{{Label: "this"}}}
			_, err := c.server.api.Host().Questions().Put(ctx, q)
			return nil, err
		})
		c = start(t, harnessOptions{model: asks})
		c.call("initialize", map[string]any{"clientInfo": map[string]any{"name": "eglot"},
			"capabilities": map[string]any{}}, nil)
		c.execute("agent.prompt", map[string]any{"text": "hi"})
		_, asked := c.wait("the question", isMethod("window/showMessageRequest"))
		_, answered := c.wait("the response", isAnswer(c.nextID))
		if asked < answered {
			t.Fatalf("the question was message %d, the response was message %d", asked, answered)
		}
		c.close()
	}
}
