package conn

import (
	"context"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// Request is a client request that has no response yet.
type Request struct {
	// Answered is called once the response is queued. It starts everything that waited for the
	// response.
	Answered func()
	// Cancel cancels the context of the request.
	Cancel context.CancelCauseFunc
}

// Requests is the registry of unanswered requests, by ID. If a client uses an ID twice, the
// requests are answered in order.
type Requests struct {
	mu      sync.Mutex
	byID    map[jsonrpc2.ID][]*Request
	letting int           // number of answered requests whose Answered is running
	drained chan struct{} // closed when no request is left; nil if Wait was not called
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

// Cancel cancels the contexts of the requests with this ID.
func (q *Requests) Cancel(id jsonrpc2.ID, cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.byID[id] {
		r.Cancel(cause)
	}
}

// Sent processes a body that was queued, and runs everything that waited for a response in the
// body. It reports whether the body contains a response.
func (q *Requests) Sent(body []byte) (answers bool) {
	for _, id := range jsonrpc.AnsweredIDs(body) {
		answers = q.settle(id) || answers
	}
	return answers
}

// settle ends the first request with this ID and releases everything that waited for its response.
// It reports whether there was such a request.
func (q *Requests) settle(id jsonrpc2.ID) bool {
	r := q.take(id)
	if r == nil {
		return false
	}
	defer q.done()
	r.Answered()
	return true
}

// take removes the first request with this ID, or returns nil. Only settle may call it, and must
// then call done.
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

// done completes the removal that take began.
func (q *Requests) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.letting--
	if q.none() && q.drained != nil {
		close(q.drained)
		q.drained = nil
	}
}

// none reports whether every request is answered and nothing waits for a response. The caller must
// hold mu.
func (q *Requests) none() bool { return len(q.byID) == 0 && q.letting == 0 }

// Wait returns a channel that is closed when every request has been answered and everything that
// waited for the responses has been sent.
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
