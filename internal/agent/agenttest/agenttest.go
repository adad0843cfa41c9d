// Package agenttest helps to test tools outside of a session.
package agenttest

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Run prepares a call of a tool and carries it out; the error is that of either.
func Run(ctx context.Context, tool tool.Tool, call *tool.Call) (*tool.Result, error) {
	p, err := tool.Prepare(ctx, call)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, call)
}
