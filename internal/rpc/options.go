package rpc

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
)

// Options are all that a connection needs. In, Out and Start are required.
type Options struct {
	// In is read until its end; it is closed at the end of Serve where it is an io.Closer,
	// which must then end a blocked Read (see Unblocked for an os.File).
	In io.Reader
	// Out gets frames and nothing else, from one goroutine.
	Out     io.Writer
	Log     *slog.Logger // nil: nowhere
	Version string
	// Local, if any, is a client in this process that shares the connection.
	Local *Local
	// Start builds what answers, when initialize comes. It is called once, must be quick
	// (the client waits for its answer) and may use Peer only after it has returned.
	Start func(ctx context.Context, init Init) (*agentapi.Core, error)
}

// Init is what initialize said.
type Init struct {
	Editor host.Editor
	Roots  []string // URIs or absolute paths
	// InitializationOptions is the client's Config as it sent it, or nil.
	InitializationOptions json.RawMessage
}
