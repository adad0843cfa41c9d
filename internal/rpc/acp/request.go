package acp

import (
	"context"
	"runtime/debug"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// request is a method of an API subject. It answers a request of the wire protocol.
type request[S agentapi.Subject, P, R any] func(s S, ctx context.Context, params *P) (R, error)

// ask calls the core. If ctx ends, the call is canceled. The error is a wire error.
func ask[S agentapi.Subject, P, R any](ctx context.Context, c *core, f request[S, P, R],
	params P) (R, error) {
	return perform(ctx, c, f, params, nil)
}

// askInOrder is like ask, but for requests that create, load, configure or delete sessions, or that
// send or remove messages. Such requests run one after another. If seen is set, it runs before any
// effect of the request is reported.
func askInOrder[S agentapi.Subject, P, R any](
	ctx context.Context,
	c *core,
	f request[S, P, R],
	params P,
	seen func(R),
) (R, error) {
	c.lane.Lock()
	defer c.lane.Unlock()
	return perform(ctx, c, f, params, seen)
}

func perform[S agentapi.Subject, P, R any](
	ctx context.Context,
	c *core,
	f request[S, P, R],
	params P,
	seen func(R),
) (result R, err error) {
	if !c.begin() {
		return result, agentapi.WireError(agentapi.ErrGone)
	}
	defer c.calls.Done()
	defer c.recoveredTo(&err)
	var r agentapi.Request
	defer r.Answered()
	own, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(agentapi.ErrCancelled) })()
	result, err = f(agentapi.Of[S](c.api), r.Context(own), &params)
	if err != nil {
		if context.Cause(own) == agentapi.ErrCancelled {
			err = agentapi.ErrCancelled
		}
		return result, agentapi.WireError(err)
	}
	if seen != nil {
		seen(result)
	}
	return result, nil
}

// begin registers a request. It returns false once the core is ending.
func (c *core) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.calls.Add(1)
	}
	return !c.gone
}

// recoveredTo converts a panic to an internal error, so that the process survives.
func (c *core) recoveredTo(err *error) {
	if p := recover(); p != nil {
		c.a.log.Error("a request panicked", "panic", p, "stack", string(debug.Stack()))
		*err = fail(codeInternal, "internal error; see the log")
	}
}

// wait waits until the turn of a message has ended and all events of the turn have been reported.
func (c *core) wait(ctx context.Context, sessionID, messageID string) (wire.Turn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(agentapi.ErrGone) })()
	t, err := agentapi.Turns{API: c.api}.Wait(ctx,
		&wire.TurnWaitParams{SessionID: sessionID, MessageID: messageID})
	if err != nil {
		return wire.Turn{}, agentapi.WireError(err)
	}
	return t, nil
}

// release unloads a session. It aborts running work and waits for its end. The session stays
// stored.
func (c *core) release(ctx context.Context, sessionID string) error {
	if err := c.api.Release(ctx, sessionID); err != nil {
		return agentapi.WireError(err)
	}
	return nil
}
