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

// order says when a request's handler runs.
type order uint8

const (
	// inline runs on the reading side, before anything later is read. It must not block.
	inline order = iota
	// queued runs in the lane: after every queued request before it. It may do quick I/O.
	queued
	// free runs beside everything else, once the queued requests before it are done.
	free
)

// route is how one method is handled.
type route struct {
	order order
	// attach makes the connection one that gets agent/* notifications.
	attach bool
	run    handler
}

// handler answers a request, with the wire's struct or an error.
type handler func(s *server, ctx context.Context, params []byte) (any, error)

// on makes a route of a typed handler.
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

// raw makes a route of a handler that reads its params itself.
func raw(o order, f handler) route { return route{order: o, run: f} }

// onAPI makes a route of a request that the API answers.
func onAPI[S agentapi.Subject, P, R any](
	o order,
	f func(subject S, ctx context.Context, params *P) (R, error),
) route {
	return on(o, func(s *server, ctx context.Context, params *P) (R, error) {
		return f(agentapi.Of[S](s.api), ctx, params)
	})
}

// attaching is onAPI for the methods whose caller gets notifications from then on.
func attaching[S agentapi.Subject, P, R any](
	o order,
	f func(subject S, ctx context.Context, params *P) (R, error),
) route {
	r := onAPI(o, f)
	r.attach = true
	return r
}

// onEditor makes a route of a request that the editor's features answer.
func onEditor[P, R any](
	o order,
	f func(e *editor.Features, ctx context.Context, params *P) (R, error),
) route {
	return on(o, func(s *server, ctx context.Context, params *P) (R, error) {
		return f(s.editor, ctx, params)
	})
}

// abort is handled on the reading side, ahead of everything that queues. Prompts that were read
// before it but are not accepted yet are aborted when they are.
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
			_, _ = l.Engine.Abort(agent.AbortRequest{Silent: silent}) // it may be idle
		}
	})
	return wire.AbortResult{State: agent.AbortAborting}, nil
}

// notice is a notification's handler. It runs on the reading side and must not block; its
// error is logged.
type notice func(s *server, params []byte) error

// told makes a notice of a typed handler.
func told[P any](f func(s *server, params *P) error) notice {
	return func(s *server, raw []byte) error {
		params := new(P)
		if err := agentapi.DecodeParams(raw, params); err != nil {
			return err
		}
		return f(s, params)
	}
}

// handle is the connection's handler. Of a notification it returns nothing, because an
// error there ends the connection.
func (s *server) handle(ctx context.Context, req *jsonrpc2.Request) (result any, err error) {
	if !req.IsCall() {
		s.handleNotification(req)
		return nil, nil
	}
	r, reqCtx, done := s.begin(req.ID())
	defer done()
	method := strings.Clone(req.Method())     // the frame is reused once reading goes on
	release := func() { jsonrpc2.Async(ctx) } // its params are another copy then
	return s.answer(
		reqCtx,
		r,
		method,
		release,
		func(rt *route, ctx context.Context) (any, error) { return rt.run(s, ctx, req.Params()) },
	)
}

// answer runs a request's handler, by run. It calls release once later messages may be read.
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

// cancelled prefers the client's own cancellation over the error that it led to.
func cancelled(ctx context.Context, err error) error {
	if context.Cause(ctx) == agentapi.ErrCancelled {
		return agentapi.ErrCancelled
	}
	return err
}

// begin registers a request; done ends its context.
func (s *server) begin(id jsonrpc2.ID) (r *agentapi.Request, ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(s.link.Context())
	r = &agentapi.Request{}
	s.link.Requests.Add(id, &conn.Request{Answered: r.Answered, Cancel: cancel})
	return r, ctx, func() { cancel(nil) }
}

// refusal is the error of a request that cannot be handled now or ever.
func (s *server) refusal(method string, known bool) error {
	switch st := s.life.phase.Load(); {
	case st == fresh && method != conn.MethodInitialize:
		return agentapi.Fail(
			wire.CodeNotInitialized,
			"received %s before initialize: send initialize first",
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

// recovered turns a panic into an internal error; the process lives.
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

// unusable tells of a notification that could not be used, which has no answer.
func (s *server) unusable(method string, err error) {
	if err == nil {
		return
	}
	s.log.Warn("a notification could not be used", "method", method, "error", err)
	if strings.HasPrefix(method, "textDocument/") {
		s.link.Log(conn.MessageWarning, fmt.Sprintf("agent-lsp: %s was ignored: %v", method, err))
	}
}
