package tools

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// PresentPlan is the tool with which the model presents the plan of a session in plan mode. The
// same session continues when the user approves the plan. All fields must be set.
type PresentPlan struct {
	// Approve shows the plan to the user and waits for the decision.
	Approve func(ctx context.Context, r tool.ApprovalRequest, plan string) (tool.Decision, error)
	// Approved is called after the user has approved a plan of a session.
	Approved func(session string)
}

var _ tool.Tool = (*PresentPlan)(nil)

// Spec implements tool.Tool.
func (t *PresentPlan) Spec() tool.Spec {
	return tool.Spec{
		Name: "present_plan", Label: "Plan for approval", Effect: tool.ReadOnly, Source: "builtin",
		Description: "Present the plan, as Markdown, for the user to approve. Only in plan mode.",
		Schema: json.RawMessage(`{"type":"object","properties":{"plan":{"type":"string"}},` +
			`"required":["plan"],"additionalProperties":false}`),
	}
}

// Prepare implements tool.Tool.
func (t *PresentPlan) Prepare(_ context.Context, call *tool.Call) (*tool.Prepared, error) {
	var args struct{ Plan string }
	if err := call.Decode(&args); err != nil {
		return nil, err
	}
	return &tool.Prepared{Run: func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		return t.present(ctx, call, args.Plan)
	}}, nil
}

// present asks the user to approve a plan.
func (t *PresentPlan) present(
	ctx context.Context,
	call *tool.Call,
	plan string,
) (*tool.Result, error) {
	wait, cancel := call.WaitContext(ctx)
	defer cancel()
	req := tool.ApprovalRequest{SessionID: call.SessionID, TurnID: call.TurnID, ItemID: call.ItemID,
		Args: call.Args, Cwd: call.Cwd,
		Waiting: func() { call.Report(tool.Update{Status: tool.StatusAwaitingPermission}) }}
	decision, err := t.Approve(wait, req, plan)
	if err != nil {
		return nil, err
	}
	if !decision.Allow {
		return &tool.Result{Text: decision.Reason, IsError: true, Denied: true}, nil
	}
	t.Approved(call.SessionID)
	return &tool.Result{Text: "The user approved the plan. Edits and commands are now possible. Carry out the plan."}, nil
}
