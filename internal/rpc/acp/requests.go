package acp

import (
	"bytes"
	"context"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// inbound is a request of the client's.
type inbound struct {
	id       jsonrpc2.ID
	cancel   context.CancelFunc
	answered chan struct{} // closed when its answer is queued
}

type inboundKey struct{}

// inboundFrom returns the request that ctx belongs to, nil outside of one.
func inboundFrom(ctx context.Context) *inbound {
	r, _ := ctx.Value(inboundKey{}).(*inbound)
	return r
}

// requests are those of the client's that have no answer in the queue. They have a lock of their
// own: what sessions tell waits for none of them.
type requests struct {
	open sync.WaitGroup
	mu   sync.Mutex
	byID map[jsonrpc2.ID]*inbound
}

// begin registers a request, so that $/cancel_request finds it. done ends its context.
func (q *requests) begin(ctx context.Context, id jsonrpc2.ID) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	r := &inbound{id: id, cancel: cancel, answered: make(chan struct{})}
	q.open.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byID[id] != nil {
		q.open.Done() // the client used an id twice: only the later is waited for
	}
	if q.byID == nil {
		q.byID = map[jsonrpc2.ID]*inbound{}
	}
	q.byID[id] = r
	return context.WithValue(ctx, inboundKey{}, r), cancel
}

// sent is told of each frame but updates, after it was queued.
func (q *requests) sent(body []byte) {
	ids := jsonrpc.AnsweredIDs(body)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		q.answeredLocked(id)
	}
}

// answeredLocked lets what waited for an answer go on.
func (q *requests) answeredLocked(id jsonrpc2.ID) {
	if r := q.byID[id]; r != nil {
		delete(q.byID, id)
		close(r.answered)
		q.open.Done()
	}
}

// cancel ends the context of a request, if there is one with that id.
func (q *requests) cancel(id jsonrpc2.ID) {
	q.mu.Lock()
	r := q.byID[id]
	q.mu.Unlock()
	if r != nil {
		r.cancel()
	}
}

// answerNow queues the answer of a request whose handler still waits, and is to return
// answeredBefore.
func (q *requests) answerNow(out *jsonrpc.Outbox, r *inbound, result []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byID[r.id] != r {
		return
	}
	body := append([]byte(`{"jsonrpc":"2.0","id":`), encode(rawID(r.id))...)
	body = append(append(body, `,"result":`...), result...)
	_ = out.Put(append(body, '}')) // fails only when the connection has ended
	q.answeredLocked(r.id)
}

// answeredBefore is the result of a handler whose request was answered by answerNow. It is not
// written.
var answeredBefore = jsonrpc2.RawMessage(`"answered before"`)

var answeredBeforeEnd = []byte(`,"result":` + string(answeredBefore) + `}`)

// unanswered returns what is to be written of a body: not what was answered before.
func unanswered(body []byte) []byte {
	return jsonrpc.Without(body, func(message []byte) bool {
		return bytes.HasSuffix(message,
			answeredBeforeEnd)
	})
}
