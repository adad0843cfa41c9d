package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// readingTool counts how often its arguments are decoded. It runs with the decoded arguments.
type readingTool struct {
	spec  tool.Spec
	reads int
}

func (r *readingTool) Spec() tool.Spec { return r.spec }

func (r *readingTool) Prepare(_ context.Context, call *tool.Call) (*tool.Prepared, error) {
	r.reads++
	var a struct{ Command string }
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return nil, err
	}
	if a.Command == "" {
		return nil, errors.New("the command is empty")
	}
	p := &tool.Prepared{
		Effect: tool.Dangerous, Label: "Run " + a.Command,
		Subject: &tool.Subject{Kind: tool.SubjectCommand, Command: a.Command},
		Run: func(context.Context, *tool.Call) (*tool.Result, error) {
			return &tool.Result{Text: "ran " + a.Command}, nil
		},
	}
	if a.Command == "ls" {
		p.Effect = tool.ReadOnly
	}
	return p, nil
}

// replacing is a hook that replaces a call's arguments.
type replacing struct{ args string }

func (replacing) HookName() string { return "replacing" }

func (h replacing) BeforeTool(context.Context, *tool.Call, tool.Spec) (ToolOutcome, error) {
	return ToolOutcome{Args: json.RawMessage(h.args)}, nil
}

// The user is asked about exactly the call that then runs, even if a hook replaced its arguments.
func TestPrepare(t *testing.T) {
	for _, tc := range []struct {
		name, args  string
		hooks       []Hook
		reads       int
		asked, want string
	}{
		{"once", `{"command":"ls"}`, nil, 1, "ls read_only", "ran ls"},
		{
			"again after a hook", `{"command":"ls"}`, []Hook{replacing{`{"command":"rm x"}`}},
			2, "rm x dangerous", "ran rm x",
		},
		{"nothing to ask about", `{"command":""}`, nil, 1, "", "the command is empty"},
		{
			"a hook that spoils", `{"command":"ls"}`, []Hook{replacing{`{}`}},
			2, "", "hook replacing replaced the arguments of do:\nthe command is empty",
		},
	} {
		bubble(t, func(t *testing.T) {
			asked := ""
			do := &readingTool{spec: tool.Spec{
				Name: "do", Effect: tool.Mutates, Schema: json.RawMessage(`{"type":"object"}`),
			}}
			m := script(step{calls: []message.ToolCall{call("c", "do", tc.args)}}, step{text: "ok"})
			r := newRig(t, m, func(o *Options) {
				allow := func(_ context.Context, r tool.ApprovalRequest) (tool.Decision, error) {
					asked = r.Subject.Command + " " + string(r.Effect)
					return tool.Decision{Allow: true}, nil
				}
				o.Approver = approverFunc(allow)
				withHooks(o, tc.hooks...)
			}, do)
			defer r.close()
			r.run("go")
			eq(t, tc.name+": result", r.results(), "c: "+tc.want)
			eq(t, tc.name+": asked", asked, tc.asked)
			if do.reads != tc.reads {
				t.Errorf("%s: arguments read %d times, want %d", tc.name, do.reads, tc.reads)
			}
			label := ""
			for _, e := range r.log.all() {
				if done, ok := e.(ItemCompleted); ok && done.Item.Call != nil {
					label = done.Item.Call.Label
				}
			}
			if ran, ok := strings.CutPrefix(tc.want, "ran "); ok && label != "Run "+ran {
				t.Errorf("%s: the item is shown as %q", tc.name, label)
			}
		})
	}
}
