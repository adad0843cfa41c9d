package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// gate asks hooks, preview and approver. A result means that the tool does not run.
func (c *callRun) gate(call *Call) *Result {
	if r := c.askHooks(call); r != nil {
		return r
	}
	preview := ""
	if p, ok := c.reg.tool.(PreviewTool); ok {
		var err error
		if preview, err = p.Preview(c.t.ctx, call); err != nil {
			return c.stopped(err, false)
		}
	}
	return c.askApprover(call, preview)
}

func (c *callRun) askHooks(call *Call) *Result {
	for h := range hooksOf[ToolHook](c.s) {
		var out ToolOutcome
		err := c.s.guard(c.t.ctx, h.Hook, func(ctx context.Context) (err error) {
			own := *call
			out, err = h.As.BeforeTool(ctx, &own, c.reg.spec)
			return err
		})
		switch {
		case err != nil:
			return c.stopped(err, true)
		case out.Result != nil:
			return out.Result
		}
		if out.Args != nil {
			args, problems := c.reg.schema.prepare(out.Args)
			if len(problems) > 0 {
				return errorResult("hook %s rewrote the arguments of %s to invalid ones:\n- %s", h.HookName(), c.name(), strings.Join(problems, "\n- "))
			}
			c.rewrite(call, args)
		}
	}
	return nil
}

// rewrite replaces the arguments for this run; the history keeps what the model sent.
func (c *callRun) rewrite(call *Call, args json.RawMessage) {
	call.Args = args
	c.change(func(it *Item) { it.Call.Args = args })
}

// stopped is the result of a call that an error kept from running.
func (c *callRun) stopped(err error, denied bool) *Result {
	if c.t.ctx.Err() != nil {
		return &Result{Text: CancelledText, IsError: true}
	}
	r := errorResult("%v", err)
	r.Denied = denied
	return r
}

func (c *callRun) askApprover(call *Call, preview string) *Result {
	if c.s.opts.Approver == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(c.t.ctx)
	w := &wait{cancel: cancel}
	defer c.s.endWait(c.t, w)
	req := c.request(call.Args, preview, w)
	req.Foreseen, req.Again = c.answered(call.Args)
	d, err := c.s.opts.Approver.Approve(ctx, req)
	if err != nil || !d.Allow {
		c.refused = true
		return c.denied(d, err)
	}
	if d.Args != nil {
		c.rewrite(call, d.Args)
	}
	call.Unboxed = d.Unboxed
	return nil
}

// request is what the approver is asked about the call; w is how a steer ends the asking.
func (c *callRun) request(args json.RawMessage, preview string, w *wait) ApprovalRequest {
	return ApprovalRequest{
		SessionID: c.s.opts.ID, TurnID: c.t.id, ItemID: c.item.ID, CallID: c.call.ID, Tool: c.reg.spec,
		Effect: c.effect, Args: args, Cwd: c.s.opts.Cwd, Preview: preview, Subject: c.subject(args),
		Gathered: c.moment.gathered(), Index: c.index,
		Waiting: sync.OnceFunc(func() {
			c.asked.Store(true)
			c.change(func(it *Item) { it.Status = StatusAwaitingPermission })
			c.s.beginWait(c.t, w)
			c.moment.arrive(c)
		}),
	}
}

func (c *callRun) subject(args json.RawMessage) *Subject {
	if t, ok := c.reg.tool.(SubjectTool); ok {
		return t.Subject(args)
	}
	return nil
}

func (c *callRun) denied(d Decision, err error) *Result {
	reason := d.Reason
	if err != nil {
		reason = err.Error()
	}
	if reason == "" {
		reason = "tool execution denied"
	}
	return c.stopped(fmt.Errorf("%s", reason), true)
}
