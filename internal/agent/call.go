package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
	"github.com/agent-lsp/agent-lsp/internal/panics"
)

// callRun is one tool call, from the model's request to the result. The first stage finds the tool
// and checks the arguments (prepare). The other stages run in the call's own goroutine: breaker,
// hooks, permission, locks, run, limit, hooks.
type callRun struct {
	s    *Session
	t    *turn
	step *Step
	call *message.ToolCall
	reg  *tool.Entry // nil if there is no such tool
	args json.RawMessage
	// object is the decoded form of args. It is nil if early is set.
	object map[string]any
	early  *tool.Result // result that is known without running the tool

	prepared *tool.Prepared // nil if early is set

	index    int // position among the calls of its message
	slot     *toolcall.Slot
	question question
	report   *report
	unlock   func()        // releases the locks; nil until they are acquired
	expire   chan struct{} // closed when the overtime after the timeout has passed
}

// execute runs the stages in a new goroutine. It waits for a result, but abandons the call after
// the overtime that follows the call's timeout, or after the grace period that follows the end of
// the turn.
func (c *callRun) execute() {
	done := make(chan struct{})
	c.s.wg.Go(func() {
		defer close(done)
		var r *tool.Result
		var status ItemStatus
		if err := panics.Catch(func() error { r, status = c.stages(); return nil }); err != nil {
			r, status = toolcall.Errorf("%s: %v", c.name(), err), StatusFailed
		}
		c.finish(r, status)
	})
	select {
	case <-done:
		return
	case <-c.expire:
	case <-c.t.ctx.Done():
		if awaitGrace(done) {
			return
		}
	}
	c.abandon()
}

// awaitGrace waits until done is closed or the grace period for ending a tool is over. It reports
// whether done was closed.
func awaitGrace(done chan struct{}) bool {
	grace := time.NewTimer(toolcall.Grace)
	defer grace.Stop()
	select {
	case <-done:
		return true
	case <-grace.C:
		return false
	}
}

func (c *callRun) abandon() {
	if c.t.ctx.Err() != nil {
		c.finish(
			toolcall.Errorf(
				"%s It did not stop in time and was abandoned. Its effect is unknown.",
				toolcall.CancelledText,
			),
			StatusCancelled,
		)
		return
	}
	c.finish(
		toolcall.Errorf(
			"tool execution timed out after %s; it did not stop and was abandoned, so its effect is unknown.",
			c.timeout(),
		),
		StatusFailed,
	)
}

// stages runs the checks that may stop the call, and then the call itself.
func (c *callRun) stages() (*tool.Result, ItemStatus) {
	done, err := c.s.tools.Allow(c.reg.Spec.Name)
	if err != nil {
		return toolcall.Errorf(
			"tool %q is disabled for %s after %d failures in a row; do something else",
			c.name(),
			toolcall.BreakerPause,
			toolcall.BreakerFailures,
		), StatusFailed
	}
	counted := toolcall.ErrNotCounted
	defer func() { done(counted) }()
	call := c.newRun()
	r := c.gate(call)
	c.slot.Arrive()
	if r == nil {
		r = c.runWithLocks(call)
		if counted = nil; r.IsError && !r.Denied {
			counted = toolcall.ErrFailed
		}
	}
	if r.IsError && c.t.ctx.Err() != nil {
		counted = toolcall.ErrNotCounted
		return r, StatusCancelled
	}
	return r, statusOfResult(r)
}

func statusOfResult(r *tool.Result) ItemStatus {
	switch {
	case r.Denied:
		return StatusDenied
	case r.IsError:
		return StatusFailed
	}
	return StatusCompleted
}

func (c *callRun) newRun() *tool.Call {
	return &tool.Call{
		ID: c.call.ID, ItemID: c.report.item.ID, SessionID: c.s.opts.ID, TurnID: c.t.id,
		Name: c.name(), Args: c.args, Object: c.object, Cwd: c.s.opts.Cwd,
		Output: c.report.output, Update: c.update, Wait: c.wait,
		Pause: func() func() { return c.report.clock.Pause() }, Nested: c.report.nested,
		Spent: c.spent, History: c.s.Messages,
	}
}

// runWithLocks locks the call's resources and runs the tool. It limits the result and passes it to
// the hooks.
func (c *callRun) runWithLocks(call *tool.Call) *tool.Result {
	c.slot.AwaitEarlier(c.t.ctx)
	release, err := c.s.locks.Acquire(c.t.ctx, c.prepared.Locks)
	if err != nil {
		return c.stopped(err, false)
	}
	c.unlock = sync.OnceFunc(release)
	defer c.unlock()
	if c.prepared.Ready != nil {
		c.prepared.Ready(call)
	}
	if err := c.recordStart(); err != nil {
		return toolcall.Errorf("not run: %v", err)
	}
	c.report.change(
		func(it *Item) {
			it.Status, c.report.clock = StatusRunning,
				toolcall.NewClock(c.timeout())
		},
	)
	r := toolcall.Run(c.t.ctx, c.prepared, call, c.report.clock, func() { close(c.expire) })
	toolcall.Limit(r, c.reg.Spec.MaxResult, c.step.MaxResult, c.spill())
	return c.offer(call, r)
}

// recordStart records that the tool is now running. If the tool may have an effect, the reply that
// requested the call is first synced to disk. A read-only tool does not need this.
func (c *callRun) recordStart() error {
	data, err := json.Marshal(map[string]string{"callId": c.call.ID, "itemId": c.report.item.ID})
	if err != nil {
		return fmt.Errorf("recording the start of %s: %w", c.name(), err)
	}
	c.s.journal.add(Record{Type: RecordToolStart, Data: data})
	if c.effect() == tool.ReadOnly {
		return c.s.journal.flush()
	}
	return c.s.journal.sync()
}

func (c *callRun) timeout() time.Duration {
	return toolcall.Timeout(&c.reg.Spec, c.step.ToolTimeout)
}

// spill returns a function that stores a result that is too long for the model, or nil if
// Options.Spill is nil.
func (c *callRun) spill() func(text string) (path string, err error) {
	if c.s.opts.Spill == nil {
		return nil
	}
	return func(text string) (string, error) {
		return c.s.opts.Spill(c.name()+"-"+c.call.ID, text)
	}
}

// offer lets the hooks that implement ToolEndHook replace the result.
func (c *callRun) offer(call *tool.Call, r *tool.Result) *tool.Result {
	for h := range hooksOf[ToolEndHook](c.s) {
		var out *tool.Result
		err := c.s.guard(c.t.ctx, h.Hook, func(ctx context.Context) (err error) {
			own, shown := *call, *r
			out, err = h.As.AfterTool(ctx, &own, &shown)
			return err
		})
		if err != nil { // an abandoned hook may still write to out
			c.s.tolerate(c.t, err)
			continue
		}
		if out != nil {
			r = out
		}
	}
	return r
}

// finish sets the result and completes the item. Only the first call of finish has an effect.
func (c *callRun) finish(r *tool.Result, status ItemStatus) {
	defer c.slot.Arrive()
	if c.question.ahead != nil {
		defer c.question.ahead.cancel(nil)
	}
	c.report.complete(r, status)
}

// endsTurn reports whether this call's result ends the turn. Either the result or the settings can
// end it.
func (c *callRun) endsTurn() bool {
	return c.report.outcome().EndTurn ||
		c.reg != nil && c.step.EndsTurn != nil && c.step.EndsTurn(c.reg.Spec.Name)
}

func (c *callRun) update(u tool.Update) {
	if u.Plan != nil && c.report.outcome() == nil {
		c.t.plan.set(c.s, c.t.id, u.Plan)
	}
	if u.Status == "" && u.Label == "" && u.ProposalID == "" && u.Locations == nil &&
		u.Details == nil {
		return
	}
	c.report.change(func(it *Item) {
		if u.Status != "" {
			it.Status = ItemStatus(u.Status)
		}
		if u.Label != "" {
			it.Call.Label = u.Label
		}
		if u.ProposalID != "" {
			it.Call.ProposalID = u.ProposalID
		}
		if u.Locations != nil {
			it.Call.Locations = u.Locations
		}
		if u.Details != nil {
			it.Call.Details = u.Details
		}
	})
}

// wait implements Call.Wait. It releases the call's locks, so that another session can use the same
// files while the user decides.
func (c *callRun) wait(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.unlock != nil {
		c.unlock()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &wait{cancel: cancel}
	resume := c.report.clock.Pause()
	c.s.beginWait(c.t, w)
	c.slot.Waits()
	return ctx, func() { c.s.endWait(c.t, w); resume() }
}
