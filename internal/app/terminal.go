package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// noTerminalYet is the text that the model gets if the editor did not answer in time. The command
// may have run.
const noTerminalYet = "The editor did not report in time whether it created a terminal. If the command started there, it is being stopped. Check what it did before you run it again."

// noTerminal is the text that precedes the client's message to the model. The user decided to
// refuse, so the command does not run elsewhere.
const noTerminal = "The command was not run: the editor refused to run it in a terminal: "

// noStartFiles are variables that must be empty in a terminal, because a shell runs the file that
// they name before the command.
var noStartFiles = []string{"BASH_ENV=", "ENV="}

// shortListed reports whether a command runs without a question although it has no sandbox.
func (d *daemon) shortListed(call *tool.Call, cmd shell.Command) bool {
	return d.policy.ShortListed(call.SessionID, cmd.Script, cmd.Dir)
}

// inTerminal returns a function that runs commands in the editor's terminals, which the user sees.
// It returns nil if there are no terminals. A command for which own returns true does not run
// there, because the user was not asked, and the editor's environment may choose other programs.
func inTerminal(terminal acp.Terminal, own func(*tool.Call, shell.Command) bool) func(
	context.Context, *tool.Call, shell.Command) (shell.Result, bool) {
	if terminal == nil {
		return nil
	}
	return func(ctx context.Context, call *tool.Call, cmd shell.Command) (shell.Result, bool) {
		if !terminal.Offered() || own(call, cmd) {
			return shell.Result{}, false
		}
		began := time.Now()
		limited, done := context.WithCancel(ctx)
		if cmd.Timeout > 0 {
			limited, done = context.WithTimeout(ctx, cmd.Timeout)
		}
		defer done()
		exit, err := terminal.Run(limited, acp.Command{
			SessionID: call.SessionID, ItemID: call.ItemID, Argv: shell.Argv(cmd.Shell, cmd.Script),
			Dir: cmd.Dir, Env: slices.Concat(cmd.Env, noStartFiles),
			OutputBytes: cmd.HeadBytes + cmd.TailBytes,
		})
		switch {
		case ctx.Err() != nil && err != nil:
			return shell.Result{ExitCode: -1, Aborted: true}, true
		case errors.Is(err, acp.ErrNoTerminalYet):
			return shell.Result{ExitCode: -1, TimedOut: limited.Err() != nil,
				Head: []byte(noTerminalYet), Total: int64(len(noTerminalYet))}, true
		case errors.Is(err, acp.ErrNoTerminals):
			return shell.Result{}, false
		case err != nil:
			said := noTerminal + err.Error()
			return shell.Result{ExitCode: -1, Head: []byte(said), Total: int64(len(said))}, true
		}
		res := shell.Result{ExitCode: exit.Code, Signal: exit.Signal, Head: []byte(exit.Output),
			Total: int64(len(exit.Output)), Duration: time.Since(began)}
		if exit.Truncated {
			res.Head = append([]byte("[the beginning of the output is omitted]\n"), res.Head...)
		}
		res.Aborted = ctx.Err() != nil
		res.TimedOut = !res.Aborted && limited.Err() != nil
		return res, true
	}
}
