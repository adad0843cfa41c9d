package hooks

import (
	"context"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// The types for the points. Each of them implements the engine's interface for exactly one point.
type (
	beforeRun   struct{ *command }
	afterRun    struct{ *command }
	beforeModel struct{ *command }
	afterModel  struct{ *command }
	beforeTool  struct{ *command }
	afterTool   struct{ *command }
	beforeFinal struct{ *command }
)

var (
	_ agent.RunHook      = beforeRun{}
	_ agent.RunEndHook   = afterRun{}
	_ agent.ModelHook    = beforeModel{}
	_ agent.ModelEndHook = afterModel{}
	_ agent.ToolHook     = beforeTool{}
	_ agent.MatchHook    = beforeTool{}
	_ agent.ToolEndHook  = afterTool{}
	_ agent.FinalHook    = beforeFinal{}
)

func (h beforeRun) BeforeRun(ctx context.Context, turnID string) error {
	o, err := h.run(ctx, Input{TurnID: turnID})
	if err != nil {
		return err
	}
	return errDenied(o)
}

func (h afterRun) AfterRun(ctx context.Context, t agent.Turn) error {
	_, err := h.run(ctx, Input{TurnID: t.TurnID, Status: t.Status, EndReason: string(t.EndReason)})
	return err
}

func (h beforeModel) BeforeModel(ctx context.Context, req *agent.Request) error {
	var system []string
	for _, b := range req.System {
		system = append(system, b.Text)
	}
	o, err := h.run(ctx, Input{System: strings.Join(system, "\n\n"), Messages: len(req.Messages)})
	if err != nil {
		return err
	}
	if o.System != nil && *o.System != "" {
		req.System = append(req.System, agent.SystemBlock{Text: *o.System})
	}
	return errDenied(o)
}

func (h afterModel) AfterModel(ctx context.Context, _ *agent.Request, reply *agent.Reply) error {
	_, err := h.run(ctx, Input{Answer: reply.Message.TextContent()})
	return err
}

func (h beforeTool) BeforeTool(ctx context.Context, call *tool.Call,
	spec tool.Spec) (agent.ToolOutcome, error) {
	if !h.matches(spec.Name) {
		return agent.ToolOutcome{}, nil
	}
	o, err := h.run(ctx, toolInput(call, spec.Name))
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	out := agent.ToolOutcome{Args: o.Args}
	if o.Result != nil {
		out.Result = &tool.Result{Text: *o.Result}
	}
	return out, errDenied(o)
}

func (h afterTool) AfterTool(ctx context.Context, call *tool.Call,
	result *tool.Result) (*tool.Result, error) {
	if !h.matches(call.Name) {
		return nil, nil
	}
	in := toolInput(call, call.Name)
	in.Result, in.IsError = result.Text, result.IsError
	o, err := h.run(ctx, in)
	if err != nil || o.Result == nil && !o.Stop {
		return nil, err
	}
	changed := *result
	if o.Result != nil {
		changed.Text = *o.Result
	}
	changed.EndTurn = changed.EndTurn || o.Stop
	return &changed, nil
}

func (h beforeFinal) BeforeStop(ctx context.Context, t agent.Turn, answer string) (string, error) {
	o, err := h.run(ctx, Input{TurnID: t.TurnID, Answer: answer})
	if err != nil {
		return "", err
	}
	return o.denied(), nil
}

func toolInput(call *tool.Call, tool string) Input {
	return Input{SessionID: call.SessionID, TurnID: call.TurnID, Cwd: call.Cwd, Tool: tool,
		CallID: call.ID, Args: call.Args}
}
