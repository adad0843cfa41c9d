package acp

import (
	"context"
	"runtime/debug"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// request is a method of a subject of the API. It answers a request of the wire.
type request[S agentapi.Subject, P, R any] func(s S, ctx context.Context, params *P) (R, error)

// ask makes a request of the core. The end of ctx cancels it. The error is one of the wire.
func ask[S agentapi.Subject, P, R any](ctx context.Context, c *core, f request[S, P, R],
	params P) (R, error) {
	return perform(ctx, c, f, params, nil)
}

// askInOrder is ask for a request that changes what sessions there are or wait for: one after the
// other. seen, if any, runs before anything that the request caused is reported.
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

// begin registers a request. It reports false once the core ends.
func (c *core) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.calls.Add(1)
	}
	return !c.gone
}

// recoveredTo turns a panic into an internal error; the process lives.
func (c *core) recoveredTo(err *error) {
	if p := recover(); p != nil {
		c.a.log.Error("a request panicked", "panic", p, "stack", string(debug.Stack()))
		*err = fail(codeInternal, "internal error; see the log")
	}
}

// wait waits for the end of the turn that a message begins, and until all that it caused was
// reported.
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

// release lets a session go: what runs in it is aborted and waited for, and it stays stored.
func (c *core) release(ctx context.Context, sessionID string) error {
	if err := c.api.Release(ctx, sessionID); err != nil {
		return agentapi.WireError(err)
	}
	return nil
}
