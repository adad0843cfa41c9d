package rpc

import (
	"context"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// inbound is a request of the client that has not been answered.
type inbound struct {
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	answered []func()
}

// whenAnswered calls f once the answer is queued.
func (r *inbound) whenAnswered(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered = append(r.answered, f)
}

// answerLater lets what waited for the answer go on without it, for a request whose answer
// comes at the end of what it causes.
func (r *inbound) answerLater() {
	r.mu.Lock()
	after := r.answered
	r.answered = nil
	r.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// withInbound returns a context that belongs to a request; nil: to none, also where ctx does.
func withInbound(ctx context.Context, r *inbound) context.Context {
	if r == nil {
		return host.WithLetGo(host.WithAnswer(ctx, nil), nil)
	}
	return host.WithLetGo(host.WithAnswer(ctx, r.whenAnswered), r.answerLater)
}

// inbounds are the requests that have not been answered, by id. A client may use an id
// twice; then they are answered in order.
type inbounds struct {
	mu      sync.Mutex
	byID    map[jsonrpc2.ID][]*inbound
	letting int           // have been answered, and let go what waited for that
	drained chan struct{} // closed when none is left; nil unless somebody waits
}

func (t *inbounds) add(id jsonrpc2.ID, r *inbound) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID = map[jsonrpc2.ID][]*inbound{}
	}
	t.byID[id] = append(t.byID[id], r)
}

// cancel ends the context of the requests with this id.
func (t *inbounds) cancel(id jsonrpc2.ID, cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.byID[id] {
		r.cancel(cause)
	}
}

// sent takes note of a body that was queued, and runs what waited for it. It reports whether
// the body answers something.
func (t *inbounds) sent(body []byte) (answers bool) {
	for _, id := range jsonrpc.AnsweredIDs(body) {
		answers = t.settle(id) || answers
	}
	return answers
}

// settle ends the first request with this id and lets go what waited for its answer. It says whether there was one.
func (t *inbounds) settle(id jsonrpc2.ID) bool {
	r := t.take(id)
	if r == nil {
		return false
	}
	defer t.done()
	r.answerLater()
	return true
}

// take removes the first request with this id, nil if there is none. It is settle's alone: done must follow.
func (t *inbounds) take(id jsonrpc2.ID) *inbound {
	t.mu.Lock()
	defer t.mu.Unlock()
	rs := t.byID[id]
	if len(rs) == 0 {
		return nil
	}
	t.letting++
	if len(rs) == 1 {
		delete(t.byID, id)
	} else {
		t.byID[id] = rs[1:]
	}
	return rs[0]
}

// done ends what take began.
func (t *inbounds) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.letting--
	if t.none() && t.drained != nil {
		close(t.drained)
		t.drained = nil
	}
}

// none says that every request is answered and nothing waits for that any more. The caller holds mu.
func (t *inbounds) none() bool { return len(t.byID) == 0 && t.letting == 0 }

// wait returns a channel that is closed when every request is answered, and what waited for the answers has been told.
func (t *inbounds) wait() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.none() {
		done := make(chan struct{})
		close(done)
		return done
	}
	if t.drained == nil {
		t.drained = make(chan struct{})
	}
	return t.drained
}
