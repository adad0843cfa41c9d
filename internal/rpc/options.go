package rpc

import (
	"context"
	"io"
	"log/slog"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
)

// Options configure a connection. In, Out and Start are required.
type Options struct {
	// In is read to its end. If In is an io.Closer, Serve closes it at the end. Close must then
	// unblock a blocked Read (see Unblocked for an os.File).
	In io.Reader
	// Out receives frames and nothing else, from one goroutine.
	Out     io.Writer
	Log     *slog.Logger // nil means that nothing is logged
	Version string
	// Start builds the core during initialize. It is called once. It must be fast, because the
	// client waits for the response. The core may use the Editor only after Start has returned.
	Start func(ctx context.Context, init agentapi.Init) (*agentapi.Core, error)
}
