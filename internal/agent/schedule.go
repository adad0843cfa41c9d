package agent

import (
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
)

// batch is the calls of one assistant message. Results become history in call order, each
// as soon as those before it are there.
type batch struct {
	s     *Session
	t     *turn
	calls []*callRun

	mu        sync.Mutex
	committed int
}

// runTools runs the calls of m; when it returns, each has its result in the history.
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
		if c.outcome().IsError {
			t.sum.ToolErrors++
		} else {
			t.ends = t.ends || c.endsTurn()
		}
	}
	if err := s.journal.flush(); err != nil {
		s.bug("after tools: %v", err) // the boundary that follows reports it
	}
}

// execute runs consecutive read-only calls together, lets consecutive edits of different files wait
// for the user together, and runs every other call alone, in call order. The returned function waits
// for the end of what was asked ahead, once each call has its result.
func (b *batch) execute() (asked func()) {
	b.markMoments()
	asked = b.foresee()
	for from := 0; from < len(b.calls); {
		to := b.editsEnd(from)
		if to > from {
			b.runEdits(from, to)
		} else {
			to = b.groupEnd(from)
			b.runTogether(from, to)
		}
		from = to
	}
	return asked
}

// run runs call i, or gives it the result that it has without running.
func (b *batch) run(i int) {
	c := b.calls[i]
	c.edit.awaitEarlier(b.t.ctx)
	c.begun.Store(true)
	switch {
	case b.t.ctx.Err() != nil:
		c.finish(&tool.Result{Text: toolcall.CancelledText, IsError: true}, StatusCancelled)
	case b.s.steered():
		c.finish(&tool.Result{Text: SkippedText, IsError: true}, StatusSkipped)
	case c.early != nil:
		c.finish(c.early, StatusFailed)
	default:
		c.faltered = b.falters(i)
		c.execute()
	}
	b.commitReady()
}

// commitReady makes the leading finished results history.
func (b *batch) commitReady() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ; b.committed < len(b.calls); b.committed++ {
		c := b.calls[b.committed]
		r := c.outcome()
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

// parallel is how many calls run together.
func (b *batch) parallel() int {
	if n := b.t.step.MaxParallel; n > 0 {
		return n
	}
	return MaxParallelCalls
}

// groupEnd is where the calls end that run together with call from.
func (b *batch) groupEnd(from int) int {
	to := from + 1
	for b.calls[from].joins() && to < len(b.calls) && b.calls[to].joins() {
		to++
	}
	return to
}

// joins says whether the call may run together with its neighbours. One that has its result already only reports it.
func (c *callRun) joins() bool { return c.early != nil || c.effect() == tool.ReadOnly }

// runTogether runs the calls from up to to, at most so many at once, started in order.
func (b *batch) runTogether(from, to int) {
	if to-from == 1 {
		b.run(from)
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	next.Store(int64(from))
	for range min(b.parallel(), to-from) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(to); i = next.Add(1) - 1 {
				b.run(int(i))
			}
		})
	}
	wg.Wait()
}
