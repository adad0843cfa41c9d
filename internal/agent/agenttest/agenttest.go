// Package agenttest helps tests call tools without a session.
package agenttest

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Run prepares and runs a call of a tool. It returns the error of either step.
func Run(ctx context.Context, tool tool.Tool, call *tool.Call) (*tool.Result, error) {
	p, err := tool.Prepare(ctx, call)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, call)
}
