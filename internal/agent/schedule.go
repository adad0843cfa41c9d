package agent

import (
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
)

// batch contains the calls of one assistant message. Results become part of the history in call
// order. Each is added as soon as all earlier results have been added.
type batch struct {
	s     *Session
	t     *turn
	calls []*callRun

	mu        sync.Mutex
	committed int
}

// runTools runs the calls of m. When it returns, the history contains a result for each call.
func (s *Session) runTools(t *turn, m *message.Message, st *stream) {
	t.phase = PhaseToolExecution
	b := &batch{s: s, t: t}
	for i, c := range m.ToolCalls() {
		b.calls = append(b.calls, s.newCall(t, c, i, st))
	}
	st.release()
	asked := b.execute()
	asked()
	b.commitReady()
	t.sum.ToolCalls += len(b.calls)
	for _, c := range b.calls {
		if c.report.outcome().IsError {
			t.sum.ToolErrors++
		} else {
			t.ends = t.ends || c.endsTurn()
		}
	}
	if err := s.journal.flush(); err != nil {
		s.bug("after tools: %v", err) // the next boundary reports the error
	}
}

// execute runs the calls and asks in advance about calls that must wait. It returns once each call
// has its result. The returned function waits until all advance questions have ended.
func (b *batch) execute() (asked func()) {
	calls := make([]toolcall.Scheduled, len(b.calls))
	for i, c := range b.calls {
		calls[i] = &scheduled{b, c, i}
	}
	order := toolcall.NewSchedule(calls, b.parallel())
	for i, c := range b.calls {
		c.slot = order.Slot(i)
	}
	order.Gather(b.foreseen)
	asked = b.foresee()
	order.Run()
	return asked
}

// scheduled implements toolcall.Scheduled for a call.
type scheduled struct {
	b *batch
	c *callRun
	i int
}

var _ toolcall.Scheduled = (*scheduled)(nil)

func (s *scheduled) Run()            { s.b.run(s.i) }
func (s *scheduled) Files() []string { return s.c.files() }

// Class implements toolcall.Scheduled.
func (s *scheduled) Class() toolcall.Class {
	switch c := s.c; {
	case c.early != nil:
		return toolcall.Known
	case c.effect() == tool.ReadOnly && c.prepared.Reads != nil:
		return toolcall.ReadsFiles
	case c.effect() == tool.ReadOnly:
		return toolcall.Reads
	case c.effect() == tool.Mutates && len(c.prepared.Locks) > 0:
		return toolcall.Edits
	}
	return toolcall.Alone
}

// run runs call i, unless its result is already known, the turn has been aborted or a steer is
// waiting.
func (b *batch) run(i int) {
	c := b.calls[i]
	c.slot.AwaitEarlier(b.t.ctx)
	c.question.begun.Store(true)
	switch {
	case b.t.ctx.Err() != nil:
		c.finish(&tool.Result{Text: toolcall.CancelledText, IsError: true}, StatusCancelled)
	case b.s.steered():
		c.finish(&tool.Result{Text: SkippedText, IsError: true}, StatusSkipped)
	case c.early != nil:
		c.finish(c.early, StatusFailed)
	default:
		c.question.faltered = b.falters(i)
		c.execute()
	}
	b.commitReady()
}

// commitReady adds the leading finished results to the history.
func (b *batch) commitReady() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ; b.committed < len(b.calls); b.committed++ {
		c := b.calls[b.committed]
		r := c.report.outcome()
		if r == nil {
			return
		}
		m := resultMessage(b.s, b.t, c.call, r)
		b.s.mu.Lock()
		b.s.commitLocked(m, false)
		b.s.activateLocked(r.Activate)
		b.s.mu.Unlock()
	}
}

// parallel returns the maximum number of calls that run concurrently.
func (b *batch) parallel() int {
	if n := b.t.step.MaxParallel; n > 0 {
		return n
	}
	return MaxParallelCalls
}
