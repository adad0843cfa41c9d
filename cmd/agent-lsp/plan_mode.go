package main

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// planTool presents the plan of a session in plan mode; the same session goes on when the user approves it.
type planTool struct {
	d    *daemon
	mode func() string
}

var _ agent.Tool = (*planTool)(nil)

func (t *planTool) Spec() agent.Spec {
	return agent.Spec{
		Name: "present_plan", Label: "Plan for approval", Effect: agent.ReadOnly, Source: "builtin",
		Description: "Present the plan, as Markdown, for the user to approve. Only in plan mode.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"plan":{"type":"string"}},"required":["plan"],"additionalProperties":false}`),
	}
}

func (t *planTool) Run(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	var args struct{ Plan string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, err
	}
	wait, cancel := call.WaitContext(ctx)
	defer cancel()
	req := agent.ApprovalRequest{SessionID: call.SessionID, TurnID: call.TurnID, ItemID: call.ItemID, Args: call.Args, Cwd: call.Cwd,
		Waiting: func() { call.Report(agent.Update{Status: agent.StatusAwaitingPermission}) }}
	decision, err := t.d.policy.ApprovePlan(wait, req, args.Plan)
	if err != nil {
		return nil, err
	}
	if !decision.Allow {
		return &agent.Result{Text: decision.Reason, IsError: true, Denied: true}, nil
	}
	t.d.mu.Lock()
	t.d.approved[call.SessionID] = t.mode()
	t.d.mu.Unlock()
	return &agent.Result{Text: "The user approved the plan. Edits and commands are possible now: carry it out."}, nil
}

// planApproved says whether the user approved a plan since the session's mode was set.
func (d *daemon) planApproved(id string, c *wire.Config) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	mode, ok := d.approved[id]
	if ok && mode != c.Mode {
		delete(d.approved, id) // plan mode set again later asks again
		return false
	}
	return ok
}

// inPlanMode says whether the mode is the built-in one that plans first.
func inPlanMode(c *wire.Config) bool { return c.Mode == policy.PlanMode.Name }
