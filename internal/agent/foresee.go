package agent

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
	"github.com/agent-lsp/agent-lsp/internal/panics"
)

// foresight is a question about a call that is asked before the call's turn, together with those of
// the calls before it: what one message asks is of one moment.
type foresight struct {
	about  *tool.Prepared // what was asked about
	cancel context.CancelCauseFunc
	done   chan struct{}  // closed when answered or given up
	answer *tool.Decision // the user's answer, once done is closed; nil: the user was not asked
}

// question is what the user is asked about a call.
type question struct {
	ahead    *foresight // nil: nothing is asked before the call's turn
	begun    atomic.Bool
	asked    atomic.Bool // the user was
	faltered bool        // set at the call's turn: a call before it did not go well
	refused  bool        // the call was not allowed
}

// foreseeable says whether the question about the call is known before the calls ahead of it have
// run. A hook may decide, or change the arguments, only then.
func (c *callRun) foreseeable() bool {
	if c.prepared == nil || c.prepared.Subject == nil {
		return false
	}
	for h := range hooksOf[ToolHook](c.s) {
		if m, ok := h.Hook.(MatchHook); !ok || m.Concerns(c.reg.Spec.Name) {
			return false
		}
	}
	return true
}

// foreseen says whether the user can be asked now about call i, whose turn comes later.
func (b *batch) foreseen(i int) bool {
	_, ok := b.s.opts.Approver.(toolcall.Foreseer)
	c := b.calls[i]
	if !ok || !c.foreseeable() {
		return false
	}
	c.question.ahead = &foresight{
		about: c.prepared, cancel: func(error) {}, done: make(chan struct{}),
	}
	return true
}

// foresee asks about the foreseen calls, each in a goroutine that ends with its answer, its call or
// its turn.
func (b *batch) foresee() (wait func()) {
	var asking sync.WaitGroup
	for _, c := range b.calls {
		if c.question.ahead != nil {
			var ctx context.Context
			ctx, c.question.ahead.cancel = context.WithCancelCause(b.t.ctx)
			asking.Go(func() { c.askAhead(ctx) })
		}
	}
	return asking.Wait
}

func (c *callRun) askAhead(ctx context.Context) {
	a := c.question.ahead
	defer close(a.done)
	defer c.slot.Arrive()
	w := &wait{cancel: a.cancel}
	defer c.s.endWait(c.t, w)
	req := c.request(w)
	// After a panic nobody was asked: Approve decides, and shows it.
	_ = panics.Catch(
		func() error {
			a.answer = c.s.opts.Approver.(toolcall.Foreseer).Foresee(ctx,
				req)
			return nil
		},
	)
	if !c.question.begun.Load() {
		c.report.change(func(it *Item) { it.Status = StatusPending })
	}
}

// answered is what a person has said ahead about this very call, which it waits for. It is void,
// and again says why, where what was to come before the call did not go as the person could expect.
func (c *callRun) answered() (d *tool.Decision, again string) {
	a := c.question.ahead
	if a == nil {
		return nil, ""
	}
	same := c.prepared == a.about
	if !same || c.question.faltered {
		a.cancel(nil)
	}
	<-a.done
	switch {
	case !same:
		return nil, ""
	case c.question.faltered && c.question.asked.Load() && (a.answer == nil || a.answer.Allow):
		return nil, FalteredText
	}
	return a.answer, ""
}

// falters says whether a call before this one, of the same message, changed less than it was to,
// and a person who was asked ahead could not know that.
func (b *batch) falters(i int) bool {
	for _, c := range b.calls[:i] {
		r := c.report.outcome()
		if r == nil { // it still runs, next to this one
			continue
		}
		failed := r.IsError || r.Denied || r.Missed
		if failed && c.early == nil && c.effect() != tool.ReadOnly && !c.question.refused {
			return true
		}
	}
	return false
}
