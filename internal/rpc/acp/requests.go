package acp

import (
	"bytes"
	"context"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// inbound is a request from the client.
type inbound struct {
	id       jsonrpc2.ID
	cancel   context.CancelFunc
	answered chan struct{} // closed when the response is queued
}

type inboundKey struct{}

// inboundFrom returns the request to which ctx belongs, or nil.
func inboundFrom(ctx context.Context) *inbound {
	r, _ := ctx.Value(inboundKey{}).(*inbound)
	return r
}

// requests tracks the client's requests whose responses are not queued yet. It has its own lock, so
// that session events never wait for it.
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
		q.open.Done() // the client has reused an ID, so only the later request is waited for
	}
	if q.byID == nil {
		q.byID = map[jsonrpc2.ID]*inbound{}
	}
	q.byID[id] = r
	return context.WithValue(ctx, inboundKey{}, r), cancel
}

// sent processes the responses in a frame that has been queued. It is not called for frames with
// updates.
func (q *requests) sent(body []byte) {
	ids := jsonrpc.AnsweredIDs(body)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		q.answeredLocked(id)
	}
}

// answeredLocked releases everything that waited for the response to a request.
func (q *requests) answeredLocked(id jsonrpc2.ID) {
	if r := q.byID[id]; r != nil {
		delete(q.byID, id)
		close(r.answered)
		q.open.Done()
	}
}

// cancel cancels the context of the request with that ID, if there is one.
func (q *requests) cancel(id jsonrpc2.ID) {
	q.mu.Lock()
	r := q.byID[id]
	q.mu.Unlock()
	if r != nil {
		r.cancel()
	}
}

// answerNow queues the response to a request whose handler is still waiting. The handler must then
// return answeredBefore.
func (q *requests) answerNow(out *jsonrpc.Outbox, r *inbound, result []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byID[r.id] != r {
		return
	}
	body := append([]byte(`{"jsonrpc":"2.0","id":`), encode(rawID(r.id))...)
	body = append(append(body, `,"result":`...), result...)
	_ = out.Put(append(body, '}')) // Put fails only if the connection has ended
	q.answeredLocked(r.id)
}

// answeredBefore is the result of a handler whose request answerNow has answered. It is not
// written.
var answeredBefore = jsonrpc2.RawMessage(`"answered before"`)

var answeredBeforeEnd = []byte(`,"result":` + string(answeredBefore) + `}`)

// unanswered returns the part of a body that must be written. It omits responses that answerNow has
// sent.
func unanswered(body []byte) []byte {
	return jsonrpc.Without(body, func(message []byte) bool {
		return bytes.HasSuffix(message,
			answeredBeforeEnd)
	})
}
