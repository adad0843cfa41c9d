package agent

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
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
	for _, c := range b.calls { // what the executor left out
		c.finish(&Result{Text: CancelledText, IsError: true}, StatusCancelled)
	}
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

// execute hands the calls to the executor. Only a foreign one is not trusted to return. The returned
// function waits for the end of what was asked ahead, once each call has its result.
func (b *batch) execute() (asked func()) {
	prepared := make([]PreparedCall, len(b.calls))
	for i, c := range b.calls {
		prepared[i] = PreparedCall{Name: c.call.Name, Args: c.args, Effect: c.effect, Failed: c.early != nil}
	}
	if b.t.step.Executor == nil {
		e := orderedExecutor{b.t.step.MaxParallel}
		b.markMoments(prepared, e.limit())
		asked = b.foresee()
		e.Execute(b.t.ctx, prepared, b.run)
		return asked
	}
	done := make(chan struct{})
	b.s.wg.Go(func() {
		defer close(done)
		if err := recovered(func() error { b.t.step.Executor.Execute(b.t.ctx, prepared, b.run); return nil }); err != nil {
			b.s.bug("executor: %v", err)
		}
	})
	select {
	case <-done:
	case <-b.t.ctx.Done():
		awaitGrace(done)
	}
	return func() {}
}

// run runs call i, or gives it the result that it has without running.
func (b *batch) run(i int) {
	c := b.calls[i]
	if !c.begun.CompareAndSwap(false, true) {
		return
	}
	switch {
	case b.t.ctx.Err() != nil:
		c.finish(&Result{Text: CancelledText, IsError: true}, StatusCancelled)
	case b.s.steered():
		c.finish(&Result{Text: SkippedText, IsError: true}, StatusSkipped)
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

// orderedExecutor runs neighbouring read-only calls together and every other call alone,
// in call order.
type orderedExecutor struct{ parallel int }

var _ Executor = orderedExecutor{}

func (e orderedExecutor) Execute(_ context.Context, calls []PreparedCall, run func(i int)) {
	for from := 0; from < len(calls); {
		to := groupEnd(calls, from)
		e.runTogether(from, to, run)
		from = to
	}
}

// limit is how many calls run together.
func (e orderedExecutor) limit() int {
	if e.parallel <= 0 {
		return MaxParallelCalls
	}
	return e.parallel
}

// groupEnd is where the calls end that run together with call from.
func groupEnd(calls []PreparedCall, from int) int {
	to := from + 1
	for together(calls[from]) && to < len(calls) && together(calls[to]) {
		to++
	}
	return to
}

func together(c PreparedCall) bool { return c.Failed || c.Effect == ReadOnly }

// runTogether runs the calls from up to to, at most so many at once, started in order.
func (e orderedExecutor) runTogether(from, to int, run func(i int)) {
	if to-from == 1 {
		run(from)
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	next.Store(int64(from))
	for range min(e.limit(), to-from) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(to); i = next.Add(1) - 1 {
				run(int(i))
			}
		})
	}
	wg.Wait()
}
