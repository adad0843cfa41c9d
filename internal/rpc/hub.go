package rpc

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// hub turns what sessions tell into notifications. It is the sink of every session.
type hub struct {
	out      *jsonrpc.Outbox
	listener Listener // told instead of out; nil: none
	log      *slog.Logger
	attached atomic.Bool // the client gets agent/* notifications
	// watch, set before any session is there, is told of each event when it is delivered. It
	// must not block or call a session.
	watch func(sessionID string, e agent.Event)

	mu      sync.RWMutex
	streams map[string]*stream
}

var _ agent.Sink = (*hub)(nil)

func newHub(out *jsonrpc.Outbox, log *slog.Logger) *hub {
	return &hub{out: out, log: log, streams: map[string]*stream{}}
}

// tell passes a notification on: to a listener as it is, else encoded.
func (h *hub) tell(sessionID, method string, params any) {
	if h.listener != nil {
		h.listener.Notified(sessionID, method, params)
		return
	}
	h.out.PutEvent(sessionID, notification(method, params))
}

// attach makes the client one that gets agent/* notifications.
func (h *hub) attach() { h.attached.Store(true) }

// detach tells the client nothing any more. When it returns, no further number is given to a notification:
// the sessions' stores can note the last one.
func (h *hub) detach() {
	h.attached.Store(false)
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, st := range h.streams {
		st.barrier()
	}
}

// barrier returns when what passed the flag before it fell has been told.
func (st *stream) barrier() {
	st.mu.Lock()
	defer st.mu.Unlock()
}

// Emit passes an event on. It never blocks.
func (h *hub) Emit(sessionID string, e agent.Event) {
	if st := h.stream(sessionID); st != nil {
		st.put(func() { st.deliver(e) })
	}
}

func (h *hub) stream(sessionID string) *stream {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.streams[sessionID]
}

// open begins a session's stream.
func (h *hub) open(store *session.Session) *stream {
	st := &stream{hub: h, id: store.ID(), store: store, open: map[string]*openItem{}, proposals: map[string]int64{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams[st.id] = st
	return st
}

// close ends a session's stream.
func (h *hub) close(st *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams[st.id] == st {
		delete(h.streams, st.id)
	}
}

// hold keeps a session's notifications back until the request's answer is queued: a
// request's answer precedes every notification that it causes. Without a request it does nothing.
func (h *hub) hold(r *inbound, sessionID string) {
	st := h.stream(sessionID)
	if st == nil || r == nil {
		return
	}
	st.hold()
	r.whenAnswered(st.release)
}
