package conn

import (
	"context"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// Request is a request of the client that has not been answered.
type Request struct {
	// Answered is called once the answer is queued, and starts what waited for that.
	Answered func()
	// Cancel ends the context of the request.
	Cancel context.CancelCauseFunc
}

// Requests is the registry of the requests that have not been answered, by id. A client may use an
// id twice; then they are answered in order.
type Requests struct {
	mu      sync.Mutex
	byID    map[jsonrpc2.ID][]*Request
	letting int           // have been answered, and let go what waited for that
	drained chan struct{} // closed when none is left; nil unless somebody waits
}

// Add registers a request.
func (q *Requests) Add(id jsonrpc2.ID, r *Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byID == nil {
		q.byID = map[jsonrpc2.ID][]*Request{}
	}
	q.byID[id] = append(q.byID[id], r)
}

// Cancel ends the context of the requests with this id.
func (q *Requests) Cancel(id jsonrpc2.ID, cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.byID[id] {
		r.Cancel(cause)
	}
}

// Sent takes note of a body that was queued, and runs what waited for it. It reports whether
// the body answers something.
func (q *Requests) Sent(body []byte) (answers bool) {
	for _, id := range jsonrpc.AnsweredIDs(body) {
		answers = q.settle(id) || answers
	}
	return answers
}

// settle ends the first request with this id and lets go what waited for its answer. It says
// whether there was one.
func (q *Requests) settle(id jsonrpc2.ID) bool {
	r := q.take(id)
	if r == nil {
		return false
	}
	defer q.done()
	r.Answered()
	return true
}

// take removes the first request with this id, nil if there is none. It is settle's alone: done
// must follow.
func (q *Requests) take(id jsonrpc2.ID) *Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	rs := q.byID[id]
	if len(rs) == 0 {
		return nil
	}
	q.letting++
	if len(rs) == 1 {
		delete(q.byID, id)
	} else {
		q.byID[id] = rs[1:]
	}
	return rs[0]
}

// done ends what take began.
func (q *Requests) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.letting--
	if q.none() && q.drained != nil {
		close(q.drained)
		q.drained = nil
	}
}

// none says that every request is answered and nothing waits for that any more. The caller holds
// mu.
func (q *Requests) none() bool { return len(q.byID) == 0 && q.letting == 0 }

// Wait returns a channel that is closed when every request is answered, and what waited for the
// answers has been told.
func (q *Requests) Wait() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.none() {
		done := make(chan struct{})
		close(done)
		return done
	}
	if q.drained == nil {
		q.drained = make(chan struct{})
	}
	return q.drained
}
