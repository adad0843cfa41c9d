package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
)

// foresight is a question about a call that is asked before the call's turn, together with those of
// the calls before it: what one message asks is of one moment.
type foresight struct {
	args   json.RawMessage // what was asked about
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when answered or given up
	answer *Decision     // what a person said, once done is closed; nil: nobody was asked
}

// foreseeable says whether the question about the call is known before the calls ahead of it have
// run. A preview may show what they do, and a hook may decide, or change the arguments, only then.
func (c *callRun) foreseeable() bool {
	if c.early != nil {
		return false
	}
	var about *Subject
	if recovered(func() error { about = c.subject(c.args); return nil }) != nil || about == nil {
		return false
	}
	if _, ok := c.reg.tool.(PreviewTool); ok {
		return false
	}
	for h := range hooksOf[ToolHook](c.s) {
		if m, ok := h.Hook.(MatchHook); !ok || m.Concerns(c.reg.spec.Name) {
			return false
		}
	}
	return true
}

// foreseen are the calls, of those that come later, about which a person can be asked now.
func (b *batch) foreseen(later []*callRun) (out []*callRun) {
	if _, ok := b.s.opts.Approver.(Foreseer); !ok {
		return nil
	}
	for _, c := range later {
		if c.foreseeable() {
			c.ahead = &foresight{args: c.args, cancel: func(error) {}, done: make(chan struct{})}
			out = append(out, c)
		}
	}
	return out
}

// foresee asks about the foreseen calls, each in a goroutine that ends with its answer, its call or its turn.
func (b *batch) foresee() (wait func()) {
	var asking sync.WaitGroup
	for _, c := range b.calls {
		if c.ahead != nil {
			var ctx context.Context
			ctx, c.ahead.cancel = context.WithCancelCause(b.t.ctx)
			asking.Go(func() { c.askAhead(ctx) })
		}
	}
	return asking.Wait
}

func (c *callRun) askAhead(ctx context.Context) {
	a := c.ahead
	defer close(a.done)
	defer c.moment.arrive(c)
	w := &wait{cancel: a.cancel}
	defer c.s.endWait(c.t, w)
	req := c.request(a.args, "", w)
	// After a panic nobody was asked: Approve decides, and shows it.
	_ = recovered(func() error { a.answer = c.s.opts.Approver.(Foreseer).Foresee(ctx, req); return nil })
	if !c.begun.Load() {
		c.change(func(it *Item) { it.Status = StatusPending })
	}
}

// answered is what a person has said ahead about this very call, which it waits for. It is void, and
// again says why, where what was to come before the call did not go as the person could expect.
func (c *callRun) answered(args json.RawMessage) (d *Decision, again string) {
	a := c.ahead
	if a == nil {
		return nil, ""
	}
	same := bytes.Equal(args, a.args)
	if !same || c.faltered {
		a.cancel(nil)
	}
	<-a.done
	switch {
	case !same:
		return nil, ""
	case c.faltered && c.asked.Load() && (a.answer == nil || a.answer.Allow):
		return nil, FalteredText
	}
	return a.answer, ""
}

// falters says whether a call before this one, of the same message, changed less than it was to, and a
// person who was asked ahead could not know that.
func (b *batch) falters(i int) bool {
	for _, c := range b.calls[:i] {
		r := c.outcome()
		if c.early == nil && c.effect != ReadOnly && r != nil && !c.refused && (r.IsError || r.Denied || r.Missed) {
			return true
		}
	}
	return false
}
