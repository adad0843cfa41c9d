package rpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/editor"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// order specifies when a request's handler runs.
type order uint8

const (
	// inline requests run on the reading goroutine, before any later message is read. They must not
	// block.
	inline order = iota
	// queued requests run one after another in the order in which they were read. They may do fast
	// I/O.
	queued
	// free requests run concurrently with all others, once the queued requests before them are
	// done.
	free
)

// route specifies how a method is handled.
type route struct {
	order order
	// attach is set if the method subscribes the connection to agent/* notifications.
	attach bool
	run    handler
}

// handler handles a request. It returns the result to encode, or an error.
type handler func(s *server, ctx context.Context, params []byte) (any, error)

// on makes a route from a typed handler.
func on[P, R any](o order, f func(s *server, ctx context.Context, params *P) (R, error)) route {
	run := func(s *server, ctx context.Context, raw []byte) (any, error) {
		params := new(P)
		if err := agentapi.DecodeParams(raw, params); err != nil {
			return nil, err
		}
		return f(s, ctx, params)
	}
	return route{order: o, run: run}
}

// raw makes a route from a handler that decodes its params itself.
func raw(o order, f handler) route { return route{order: o, run: f} }

// onAPI makes a route for a request that the API answers.
func onAPI[S agentapi.Subject, P, R any](
	o order,
	f func(subject S, ctx context.Context, params *P) (R, error),
) route {
	return on(o, func(s *server, ctx context.Context, params *P) (R, error) {
		return f(agentapi.Of[S](s.api), ctx, params)
	})
}

// attaching is like onAPI, for methods that subscribe the client to notifications.
func attaching[S agentapi.Subject, P, R any](
	o order,
	f func(subject S, ctx context.Context, params *P) (R, error),
) route {
	r := onAPI(o, f)
	r.attach = true
	return r
}

// onEditor makes a route for a request that the editor features answer.
func onEditor[P, R any](
	o order,
	f func(e *editor.Features, ctx context.Context, params *P) (R, error),
) route {
	return on(o, func(s *server, ctx context.Context, params *P) (R, error) {
		return f(s.editor, ctx, params)
	})
}

// abort runs on the reading goroutine, ahead of everything that is queued. If the session is idle
// and the abort names no turn or item, prompts that were read before the abort but are not yet
// accepted are aborted as soon as they are accepted.
func (s *server) abort(ctx context.Context, p *wire.AbortParams) (wire.AbortResult, error) {
	r, err := agentapi.Turns{API: s.api}.Abort(ctx, p)
	isIdle := err == nil && r.State == agent.AbortIdle || errors.Is(err, session.ErrUnknown)
	if !isIdle || p.ItemID != "" || p.TurnID != "" || s.link.Queue.Idle() {
		return r, err
	}
	place, id, silent := s.link.Queue.Take(), p.SessionID, p.Silent
	s.link.Go("aborting", func() {
		place.Enter()
		defer place.Leave()
		if l := s.api.Loaded(id); l != nil {
			_, _ = l.Engine.Abort(agent.AbortRequest{Silent: silent}) // the session may be idle
		}
	})
	return wire.AbortResult{State: agent.AbortAborting}, nil
}

// notice is the handler of a notification. It runs on the reading goroutine and must not block. Its
// error is logged.
type notice func(s *server, params []byte) error

// noticeOf makes a notice from a typed handler.
func noticeOf[P any](f func(s *server, params *P) error) notice {
	return func(s *server, raw []byte) error {
		params := new(P)
		if err := agentapi.DecodeParams(raw, params); err != nil {
			return err
		}
		return f(s, params)
	}
}

// handle is the connection's handler. For a notification it returns no error, because an error
// would end the connection.
func (s *server) handle(ctx context.Context, req *jsonrpc2.Request) (result any, err error) {
	if !req.IsCall() {
		s.handleNotification(req)
		return nil, nil
	}
	r, reqCtx, done := s.begin(req.ID())
	defer done()
	method := strings.Clone(req.Method()) // the frame is reused once reading continues
	// Async copies the params before reading continues.
	release := func() { jsonrpc2.Async(ctx) }
	return s.answer(
		reqCtx,
		r,
		method,
		release,
		func(rt *route, ctx context.Context) (any, error) { return rt.run(s, ctx, req.Params()) },
	)
}

// answer runs a request's handler with run. It calls release once later messages may be read.
func (s *server) answer(
	ctx context.Context,
	r *agentapi.Request,
	method string,
	release func(),
	run func(rt *route, ctx context.Context) (any, error),
) (result any, err error) {
	defer s.recovered(method, &err)
	rt, ok := routes[method]
	if err := s.refusal(method, ok); err != nil {
		return nil, err
	}
	if rt.attach {
		s.subscribe()
	}
	switch rt.order {
	case queued:
		place := s.link.Queue.Take()
		release()
		place.Enter()
		defer place.Leave()
	case free:
		place := s.link.Queue.After()
		release()
		place.Enter()
	}
	result, err = run(&rt, r.Context(ctx))
	if err != nil {
		return nil, agentapi.WireError(cancelled(ctx, err))
	}
	return result, nil
}

// cancelled returns the client's cancellation, if there is one, instead of the error that it
// caused.
func cancelled(ctx context.Context, err error) error {
	if context.Cause(ctx) == agentapi.ErrCancelled {
		return agentapi.ErrCancelled
	}
	return err
}

// begin registers a request. done ends its context.
func (s *server) begin(id jsonrpc2.ID) (r *agentapi.Request, ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(s.link.Context())
	r = &agentapi.Request{}
	s.link.Requests.Add(id, &conn.Request{Answered: r.Answered, Cancel: cancel})
	return r, ctx, func() { cancel(nil) }
}

// refusal returns the error for a request that cannot be handled in the current phase, or whose
// method is unknown.
func (s *server) refusal(method string, known bool) error {
	switch st := s.life.phase.Load(); {
	case st == fresh && method != conn.MethodInitialize:
		return agentapi.Fail(
			wire.CodeNotInitialized,
			"received %s before initialize; send initialize first",
			method,
		)
	case st == ending:
		return agentapi.Fail(
			wire.CodeInvalidRequest,
			"received %s after shutdown: only exit may follow",
			method,
		)
	case !known:
		return agentapi.Fail(
			wire.CodeMethodNotFound,
			"unknown method %q: see capabilities.experimental.agentLsp.methods",
			method,
		)
	}
	return nil
}

// recovered converts a panic to an internal error, so that the process survives.
func (s *server) recovered(method string, err *error) {
	if p := recover(); p != nil {
		s.log.Error(
			"a handler panicked",
			"method",
			method,
			"panic",
			p,
			"stack",
			string(debug.Stack()),
		)
		*err = agentapi.Fail(wire.CodeInternalError, "internal error in %s; see the log", method)
	}
}

func (s *server) handleNotification(req *jsonrpc2.Request) {
	var err error
	defer func() { s.unusable(req.Method(), err) }()
	defer s.recovered(req.Method(), &err)
	n, ok := notices[req.Method()]
	if !ok || s.life.phase.Load() == fresh && req.Method() != conn.MethodExit {
		return
	}
	err = n(s, req.Params())
}

// unusable logs the error of a notification, because notifications have no response. The client
// also gets the errors of textDocument notifications, as log messages.
func (s *server) unusable(method string, err error) {
	if err == nil {
		return
	}
	s.log.Warn("a notification could not be handled", "method", method, "error", err)
	if strings.HasPrefix(method, "textDocument/") {
		s.link.Log(conn.MessageWarning, fmt.Sprintf("agent-lsp: %s was ignored: %v", method, err))
	}
}
