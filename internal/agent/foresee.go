package agent

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
	"github.com/agent-lsp/agent-lsp/internal/panics"
)

// foresight is a question that the user is asked about a call before the call is due, together with
// the questions about earlier calls of the same message.
type foresight struct {
	about  *tool.Prepared // the call that the question is about
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the question is answered or abandoned
	// answer is the user's answer, valid once done is closed. It is nil if the user was not asked.
	answer *tool.Decision
}

// question records whether and when the user was asked about a call, and the outcome.
type question struct {
	ahead    *foresight // nil if the user is not asked in advance
	begun    atomic.Bool
	asked    atomic.Bool // the user was asked
	faltered bool        // set if an earlier call has gone wrong by the time this call is due
	refused  bool        // the call was not allowed
}

// foreseeable reports whether the question about the call can be determined before the earlier
// calls have run. This is not possible if a hook could make the decision or change the arguments.
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

// foreseen reports whether the user can already be asked about call i, which runs later. If so, it
// creates the call's foresight.
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

// foresee asks the user in advance about the calls that have a foresight. Each question has its own
// goroutine, which ends with the answer, the call or the turn.
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
	// If Foresee panics, the user was not asked. Approve then decides and reports the panic.
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

// answered waits for the user's answer to the advance question about this call. It returns nil if
// the user was not asked, or if the arguments have changed since the question. It also returns nil,
// with the reason, if the user was asked and did not refuse, but an earlier call did not run as
// expected.
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

// falters reports whether an earlier call of the same message changed less than requested. The user
// did not know this when answering in advance.
func (b *batch) falters(i int) bool {
	for _, c := range b.calls[:i] {
		r := c.report.outcome()
		if r == nil { // the call is still running concurrently
			continue
		}
		failed := r.IsError || r.Denied || r.Missed
		if failed && c.early == nil && c.effect() != tool.ReadOnly && !c.question.refused {
			return true
		}
	}
	return false
}
