package acp

import (
	"context"
	"time"

	"github.com/coder/acp-go-sdk"
)

const (
	// terminalTimeout bounds terminal/* requests but wait_for_exit, which no person answers.
	terminalTimeout = 5 * time.Second
	// abortTimeout bounds each of them once the command is to end: an abort completes within 2 s.
	abortTimeout = 500 * time.Millisecond
)

// Command is what a client's terminal is asked to run.
type Command struct {
	SessionID, ItemID string // the tool call that it belongs to
	Argv              []string
	Dir               string
	OutputBytes       int // kept of the end of its output
}

// Exit is how it ended.
type Exit struct {
	Output    string
	Truncated bool // Output is only the end
	Code      int  // -1 where it did not exit by itself
	Signal    string
}

// Terminal runs commands in the client's terminals.
type Terminal interface {
	// Offered says that the client has terminals.
	Offered() bool
	// Run runs a command until it ends or ctx does, which kills it; it is released in any case.
	// The error is of a terminal that could not be made: nothing has run then.
	Run(ctx context.Context, cmd Command) (Exit, error)
}

var _ Terminal = (*adapter)(nil)

// Offered implements Terminal.
func (a *adapter) Offered() bool { return a.client.Terminal }

// Run implements Terminal.
func (a *adapter) Run(ctx context.Context, cmd Command) (Exit, error) {
	s, err := a.session(cmd.SessionID)
	if err != nil {
		return Exit{}, err
	}
	var made acp.CreateTerminalResponse
	create := acp.CreateTerminalRequest{SessionId: acp.SessionId(s.id), Command: cmd.Argv[0], Args: cmd.Argv[1:], Cwd: &cmd.Dir, OutputByteLimit: &cmd.OutputBytes}
	if err := a.terminalCall(ctx, acp.ClientMethodTerminalCreate, create, &made); err != nil {
		return Exit{}, err
	}
	id := acp.SessionId(s.id)
	defer func() {
		var done acp.ReleaseTerminalResponse
		_ = a.terminalCall(ctx, acp.ClientMethodTerminalRelease, acp.ReleaseTerminalRequest{SessionId: id, TerminalId: made.TerminalId}, &done)
	}()
	s.showTerminal(cmd.ItemID, made.TerminalId)
	return a.follow(ctx, id, made.TerminalId), nil
}

// follow waits for the end of a terminal's command, and kills it when ctx ends first.
func (a *adapter) follow(ctx context.Context, session acp.SessionId, terminal string) Exit {
	var ended acp.WaitForTerminalExitResponse
	err := a.call(ctx, acp.ClientMethodTerminalWaitForExit, acp.WaitForTerminalExitRequest{SessionId: session, TerminalId: terminal}, &ended)
	if err != nil {
		var killed acp.KillTerminalResponse
		_ = a.terminalCall(ctx, acp.ClientMethodTerminalKill, acp.KillTerminalRequest{SessionId: session, TerminalId: terminal}, &killed)
	}
	out := Exit{Code: -1}
	var shown acp.TerminalOutputResponse
	if a.terminalCall(ctx, acp.ClientMethodTerminalOutput, acp.TerminalOutputRequest{SessionId: session, TerminalId: terminal}, &shown) == nil {
		out.Output, out.Truncated = shown.Output, shown.Truncated
	}
	if ended.ExitCode != nil {
		out.Code = *ended.ExitCode
	}
	if ended.Signal != nil {
		out.Signal = *ended.Signal
	}
	return out
}

// terminalCall asks about a terminal; also after the end of ctx, but not as long.
func (a *adapter) terminalCall(ctx context.Context, method string, params, result any) error {
	limit := terminalTimeout
	if ctx.Err() != nil {
		limit = abortTimeout
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer done()
	return a.call(ctx, method, params, result)
}

// showTerminal lets the client show the terminal with its tool call, also when that has ended.
func (s *session) showTerminal(itemID, terminal string) {
	content := []acp.ToolCallContent{acp.ToolTerminalRef(terminal)}
	s.mu.Lock()
	if it := s.items[itemID]; it != nil {
		it.diffs = content
	}
	s.mu.Unlock()
	s.update(toolUpdate(itemID, acp.WithUpdateStatus(acp.ToolCallStatusInProgress), acp.WithUpdateContent(content)))
}
