package rpc

import (
	"context"
	"reflect"
	"strconv"
	"sync/atomic"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// Listener gets what a session's notifications would say, without a detour over bytes: in the
// wire's order, from the goroutine that causes it. Its methods must not block, and not ask.
type Listener interface {
	// Delta gets each delta as it comes; none is merged.
	Delta(sessionID string, d agent.ItemDelta)
	// Notified gets any other notification, with the struct of internal/rpc/wire that it holds.
	Notified(sessionID, method string, params any)
}

// Local is a client in this process: its requests are answered as if they came over In, and its
// Listener is told instead of Out. Requests of the server still go over Out. Its methods may be
// called from any goroutine.
type Local struct {
	listener Listener
	server   atomic.Pointer[server]
	there    chan struct{} // closed when server is set
	asked    atomic.Int64
}

// NewLocal returns a client that is to be set as Options.Local.
func NewLocal(l Listener) *Local { return &Local{listener: l, there: make(chan struct{})} }

// Served is closed when the server is there that answers: nothing can be asked before.
func (l *Local) Served() <-chan struct{} { return l.there }

// serve gives the client its server.
func (l *Local) serve(s *server) {
	l.server.Store(s)
	close(l.there)
}

// Call asks for method and reads the answer into result, a pointer to the wire's struct, or nil. Params that
// are the method's own struct of the wire are handed over as they are, and belong to the server then. The
// error is the one that the wire would carry. seen, if any, runs before anything that the request caused is
// told. The end of ctx cancels the request.
func (l *Local) Call(ctx context.Context, method string, params, result any, seen func()) error {
	s := l.server.Load()
	if s == nil {
		return agentapi.WireError(agentapi.ErrGone)
	}
	id := jsonrpc2.NewStringID("local " + strconv.FormatInt(l.asked.Add(1), 10))
	r, reqCtx, done := s.begin(id)
	defer done()
	defer s.inbounds.settle(id)
	if s.ctx.Err() != nil { // asked for after begin: the end waits for what is registered before it
		return agentapi.WireError(agentapi.ErrGone)
	}
	defer context.AfterFunc(ctx, func() { r.cancel(agentapi.ErrCancelled) })()
	answer, err := s.answer(reqCtx, r, method, func() {}, func(rt *route, ctx context.Context) (any, error) { return rt.local(s, ctx, params) })
	if err == nil {
		err = assign(result, answer)
	}
	if err == nil && seen != nil {
		seen()
	}
	return err
}

// Wait waits for the end of the turn that a message begins, and until all that it caused is told: agent/turn/wait
// without its bytes, for whoever waits for each turn.
func (l *Local) Wait(ctx context.Context, sessionID, messageID string) (wire.Turn, error) {
	s := l.server.Load()
	if s == nil {
		return wire.Turn{}, agentapi.WireError(agentapi.ErrGone)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(agentapi.ErrGone) })()
	t, err := s.api.TurnWait(ctx, &wire.TurnWaitParams{SessionID: sessionID, MessageID: messageID})
	if err != nil {
		return wire.Turn{}, agentapi.WireError(err)
	}
	return t, nil
}

// Release lets a session go: what runs in it is aborted and waited for, and it stays stored. Whoever names it again
// loads it again, here or elsewhere.
func (l *Local) Release(ctx context.Context, sessionID string) error {
	s := l.server.Load()
	if s == nil {
		return agentapi.WireError(agentapi.ErrGone)
	}
	if err := s.api.Release(ctx, sessionID); err != nil {
		return agentapi.WireError(err)
	}
	return nil
}

// assign reads an answer as the wire's, and without the wire where the types are the same.
func assign(result, answer any) error {
	if result == nil {
		return nil
	}
	to, from := reflect.ValueOf(result).Elem(), reflect.ValueOf(answer)
	if from.IsValid() && from.Type() == to.Type() {
		to.Set(from)
		return nil
	}
	return codec.Unmarshal(encode(answer), result)
}
