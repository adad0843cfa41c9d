package main

import (
	"context"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// inTerminal runs commands in the editor's terminals, which their user sees; nil where there are none.
func inTerminal(terminal acp.Terminal) func(context.Context, *agent.Call, shell.Command) (shell.Result, bool) {
	if terminal == nil {
		return nil
	}
	return func(ctx context.Context, call *agent.Call, cmd shell.Command) (shell.Result, bool) {
		if !terminal.Offered() {
			return shell.Result{}, false
		}
		began := time.Now()
		limited, done := context.WithCancel(ctx)
		if cmd.Timeout > 0 {
			limited, done = context.WithTimeout(ctx, cmd.Timeout)
		}
		defer done()
		exit, err := terminal.Run(limited, acp.Command{
			SessionID: call.SessionID, ItemID: call.ItemID, Argv: shell.Argv(cmd.Shell, cmd.Script), Dir: cmd.Dir, OutputBytes: cmd.HeadBytes + cmd.TailBytes,
		})
		if err != nil {
			return shell.Result{ExitCode: -1, Aborted: true}, ctx.Err() != nil
		}
		res := shell.Result{ExitCode: exit.Code, Signal: exit.Signal, Head: []byte(exit.Output), Total: int64(len(exit.Output)), Duration: time.Since(began)}
		if exit.Truncated {
			res.Head = append([]byte("[the beginning of the output is left out]\n"), res.Head...)
		}
		res.Aborted = ctx.Err() != nil
		res.TimedOut = !res.Aborted && limited.Err() != nil
		return res, true
	}
}
