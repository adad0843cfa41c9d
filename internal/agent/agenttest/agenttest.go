// Package agenttest provides helpers for testing tools without a session.
package agenttest

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Run prepares a tool call and runs it. It returns the error from whichever step fails.
func Run(ctx context.Context, tool tool.Tool, call *tool.Call) (*tool.Result, error) {
	p, err := tool.Prepare(ctx, call)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, call)
}
