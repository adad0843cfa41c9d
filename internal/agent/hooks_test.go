package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// goodHook implements several hooks. It adds a message to each request, decides about some calls by
// their ID, and can veto the end of a turn. It records the replies, and the beginning and the end
// of the turn.
type goodHook struct {
	vetoes int

	mu  sync.Mutex
	saw []string
}

func (h *goodHook) note(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.saw = append(h.saw, s)
}

func (*goodHook) HookName() string { return "good" }
func (*goodHook) BeforeModel(_ context.Context, req *Request) error {
	req.Messages = append(req.Messages, message.NewText(message.RoleUser, "hooked"))
	return nil
}
func (h *goodHook) AfterModel(_ context.Context, _ *Request, reply *Reply) error {
	h.note(fmt.Sprintf("reply %q", reply.Message.TextContent()))
	return nil
}
func (h *goodHook) BeforeRun(context.Context, string) error { h.note("begin"); return nil }
func (h *goodHook) AfterRun(_ context.Context, turn Turn) error {
	h.note("end " + string(turn.EndReason))
	return nil
}
func (*goodHook) BeforeTool(_ context.Context, c *tool.Call, _ tool.Spec) (ToolOutcome, error) {
	switch c.ID {
	case "rewritten":
		return ToolOutcome{Args: json.RawMessage(`{"a":2}`)}, nil
	case "answered":
		return ToolOutcome{Result: &tool.Result{Text: "by the hook"}}, nil
	case "vetoed":
		return ToolOutcome{}, errors.New("forbidden")
	}
	return ToolOutcome{}, nil
}
func (*goodHook) AfterTool(_ context.Context, c *tool.Call, r *tool.Result) (*tool.Result, error) {
	if c.ID == "replaced" {
		return &tool.Result{Text: "was " + r.Text}, nil
	}
	return nil, nil
}
func (h *goodHook) BeforeStop(_ context.Context, _ Turn, answer string) (string, error) {
	if h.vetoes--; h.vetoes >= 0 {
		return "not yet: " + answer, nil
	}
	return "", nil
}

// Hooks can rewrite a call's arguments, answer in place of the tool, replace a result, and veto the
// end of a turn. They see each reply, and the beginning and the end of the turn.
func TestHooks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{calls: []message.ToolCall{
			call("plain", "echo", `{"a":1}`), call("rewritten", "echo", `{"a":1}`),
			call("answered", "echo", `{"a":1}`),
			call("replaced", "echo", `{"a":1}`), call("vetoed", "echo", `{"a":1}`),
		}}, step{text: "one"}, step{text: "two"})
		echo := fake("echo", tool.ReadOnly,
			func(_ context.Context, c *tool.Call) (*tool.Result, error) {
				return &tool.Result{Text: string(c.Args)}, nil
			})
		h := &goodHook{vetoes: 1}
		r := newRig(t, m, func(o *Options) { withHooks(o, h) }, echo)
		defer r.close()
		r.run("go")
		synctest.Wait() // the hooks after the turn run in the background
		eq(t, "seen", strings.Join(h.saw, ", "),
			`begin, reply "", reply "one", reply "two", end stop`)
		eq(t, "results", r.results(), `plain: {"a":1}
rewritten: {"a":2}
answered: by the hook
replaced: was {"a":1}
vetoed: hook good: forbidden`)
		if got := texts(r.s.Messages()); !strings.Contains(got,
			"assistant \"one\"\nuser \"not yet: one\"\nassistant \"two\"") ||
			strings.Contains(got, "hooked") {
			t.Error(got)
		}
		if got := texts(m.request(0).Messages); !strings.Contains(got, "hooked") {
			t.Error(got)
		}
	})
}

func TestVetoesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(), func(o *Options) { withHooks(o, &goodHook{vetoes: 1000}) })
		defer r.close()
		if turn := r.run("go"); turn.ModelCalls != MaxVetoes+1 || turn.EndReason != EndStop {
			t.Errorf("%+v", turn)
		}
	})
}
