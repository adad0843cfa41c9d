package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
)

// gate asks the hooks and the approver. If it returns a result, the tool does not run.
func (c *callRun) gate(call *tool.Call) *tool.Result {
	if r := c.askHooks(call); r != nil {
		return r
	}
	return c.askApprover(call)
}

func (c *callRun) askHooks(call *tool.Call) *tool.Result {
	for h := range hooksOf[ToolHook](c.s) {
		var out ToolOutcome
		err := c.s.guard(c.t.ctx, h.Hook, func(ctx context.Context) (err error) {
			own := *call
			out, err = h.As.BeforeTool(ctx, &own, c.reg.Spec)
			return err
		})
		switch {
		case err != nil:
			return c.stopped(err, true)
		case out.Result != nil:
			return out.Result
		}
		if out.Args != nil {
			if problem := c.rewrite(call, out.Args); problem != nil {
				return toolcall.Errorf(
					"hook %s replaced the arguments of %s:\n%s",
					h.HookName(),
					c.name(),
					problem.Text,
				)
			}
		}
	}
	return nil
}

// rewrite replaces the arguments for this run. The history keeps the model's arguments. If the new
// arguments are wrong, the result explains why.
func (c *callRun) rewrite(call *tool.Call, args json.RawMessage) *tool.Result {
	if problem := c.read(args); problem != nil {
		return problem
	}
	call.Args, call.Object = c.args, c.object
	c.report.change(func(it *Item) { it.Call.Args, it.Call.Label = c.args, c.prepared.Label })
	return nil
}

// stopped returns the result of a call that did not run because of an error.
func (c *callRun) stopped(err error, denied bool) *tool.Result {
	if c.t.ctx.Err() != nil {
		return &tool.Result{Text: toolcall.CancelledText, IsError: true}
	}
	r := toolcall.Errorf("%v", err)
	r.Denied = denied
	return r
}

func (c *callRun) askApprover(call *tool.Call) *tool.Result {
	if c.s.opts.Approver == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(c.t.ctx)
	w := &wait{cancel: cancel}
	defer c.s.endWait(c.t, w)
	req := c.request(w)
	req.Foreseen, req.Again = c.answered()
	d, err := c.s.opts.Approver.Approve(ctx, req)
	if err != nil || !d.Allow {
		c.question.refused = true
		return c.denied(d, err)
	}
	call.Unboxed, call.Secrets = d.Unboxed, d.Secrets
	return nil
}

// request returns the approval request for the call. A steer ends the wait w.
func (c *callRun) request(w *wait) tool.ApprovalRequest {
	return tool.ApprovalRequest{
		SessionID: c.s.opts.ID, TurnID: c.t.id, ItemID: c.report.item.ID, CallID: c.call.ID,
		Tool:   c.reg.Spec,
		Effect: c.effect(), Args: c.args, Cwd: c.s.opts.Cwd, Subject: c.prepared.Subject,
		Preview:  c.prepared.Preview,
		Gathered: c.slot.Gathered(), Index: c.index,
		Waiting: sync.OnceFunc(func() {
			c.question.asked.Store(true)
			c.report.change(func(it *Item) { it.Status = StatusAwaitingPermission })
			c.s.beginWait(c.t, w)
			c.slot.Arrive()
		}),
	}
}

func (c *callRun) denied(d tool.Decision, err error) *tool.Result {
	return c.stopped(errors.New(toolcall.DenialReason(d, err)), true)
}
