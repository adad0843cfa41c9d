package rpc

import (
	"context"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
)

// inbound is a request of the client that has not been answered.
type inbound struct {
	agentapi.Request
	cancel context.CancelCauseFunc
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
	r.Answered()
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
