package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/pause"
)

// Retries of tools; see TemporaryError.
const (
	// ToolRetries is how often a read-only call is tried again after a temporary error.
	ToolRetries = 2
	// ToolRetryDelay is the pause before the first retry, doubled for the next.
	ToolRetryDelay = 500 * time.Millisecond
)

// attempts runs the tool, again after temporary errors. A panic is an error.
func (c *callRun) attempts(ctx context.Context, call *tool.Call) (r *tool.Result, err error) {
	delay := ToolRetryDelay
	for try := 0; ; try++ {
		r = nil
		err = recovered(func() (err error) {
			r, err = c.prepared.Run(ctx, call)
			return err
		})
		var temporary *tool.TemporaryError
		if !errors.As(err, &temporary) || c.effect() != tool.ReadOnly || try == ToolRetries {
			return r, err
		}
		call.Emit(fmt.Sprintf("%v; trying again in %v\n", err, delay))
		if pause.For(ctx, delay) != nil {
			return r, err
		}
		delay *= 2
	}
}
