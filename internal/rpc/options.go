package rpc

import (
	"context"
	"io"
	"log/slog"

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
	// Start builds what answers, when initialize comes. It is called once, must be quick
	// (the client waits for its answer) and may use the Editor only after it has returned.
	Start func(ctx context.Context, init agentapi.Init) (*agentapi.Core, error)
}
