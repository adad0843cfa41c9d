package acp

import (
	"context"
	"errors"
	"fmt"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// The ACP's error codes.
const (
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeAuthRequired   = -32000
	codeNotFound       = -32002
	codeCancelled      = -32800
)

const (
	methodCancelRequest = "$/cancel_request"
	methodSteering      = "_session/steering"
	methodDelete        = "session/delete"
)

func fail(code int, format string, args ...any) *jsonrpc2.Error {
	return jsonrpc2.NewError(jsonrpc2.Code(code), fmt.Sprintf(format, args...))
}

func unknownSession(id string) error {
	return fail(codeNotFound, "there is no session %q; create, load or resume it first", id)
}

// clientError converts an error from the core to an ACP error.
func clientError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fail(codeCancelled, "the request was cancelled")
	}
	var e *jsonrpc2.Error
	if !errors.As(err, &e) {
		return fail(codeInternal, "%v", err)
	}
	switch int(e.Code) {
	case wire.CodeUnknownSession:
		return fail(codeNotFound, "%s", e.Message)
	case wire.CodeProviderNotConfigured:
		out := fail(codeAuthRequired, "%s", e.Message)
		out.Data = e.Data
		return out
	case wire.CodeNotIdle, wire.CodePaused, wire.CodeTurnMismatch, wire.CodeLocked:
		return fail(codeInvalidRequest, "%s", e.Message)
	}
	if e.Code > 0 {
		return fail(codeInternal, "%s", e.Message)
	}
	return e
}
