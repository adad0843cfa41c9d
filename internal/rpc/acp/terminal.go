package acp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/coder/acp-go-sdk"
	"go.lsp.dev/jsonrpc2"
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
	// Run runs a command until it ends or ctx does, which kills it; it is released in any case. The
	// error is of a terminal that was not made: nothing has run then, unless it is
	// ErrNoTerminalYet. It is ErrNoTerminals where the client has none after all; any other is its
	// refusal.
	Run(ctx context.Context, cmd Command) (Exit, error)
}

// ErrNoTerminalYet says that the client has not answered whether it makes a terminal. It may still
// make one, whose command is killed then; what it did by that time is not known.
var ErrNoTerminalYet = errors.New("the editor did not say in time whether it made a terminal")

// ErrNoTerminals says that the client, which offered terminals, knows no request for one.
var ErrNoTerminals = errors.New("the editor has no terminals")

var _ Terminal = (*adapter)(nil)

// Offered implements Terminal.
func (a *adapter) Offered() bool { return a.client.Terminal }

// Run implements Terminal.
func (a *adapter) Run(ctx context.Context, cmd Command) (Exit, error) {
	s, err := a.session(cmd.SessionID)
	if err != nil {
		return Exit{}, ErrNoTerminals // not for one that it does not know
	}
	create := acp.CreateTerminalRequest{SessionId: acp.SessionId(s.id), Command: cmd.Argv[0],
		Args: cmd.Argv[1:], Cwd: &cmd.Dir, OutputByteLimit: &cmd.OutputBytes}
	terminal, err := a.createTerminal(ctx, create)
	if err != nil {
		return Exit{}, notMade(err)
	}
	defer a.releaseTerminal(ctx, create.SessionId, terminal)
	s.showTerminal(cmd.ItemID, terminal)
	return a.follow(ctx, create.SessionId, terminal), nil
}

// notMade says why a client made no terminal. Clients ask their user, or a policy of their own,
// about a terminal and answer a refusal with an error of any code; only one says that they could
// not be asked.
func notMade(err error) error {
	var e *jsonrpc2.Error
	if !errors.As(err, &e) {
		return err
	}
	if int(e.Code) == codeMethodNotFound {
		return ErrNoTerminals
	}
	var data struct{ Details string }
	if json.Unmarshal(e.Data, &data) == nil && data.Details != "" {
		return errors.New(data.Details)
	}
	return errors.New(e.Message)
}

// createTerminal asks for a terminal. One that comes when nobody waits for it any more is killed:
// its command would run unseen, perhaps beside another try of the same.
func (a *adapter) createTerminal(ctx context.Context,
	create acp.CreateTerminalRequest) (id string, err error) {
	type answer struct {
		made acp.CreateTerminalResponse
		err  error
	}
	answered := make(chan answer, 1)
	a.background(func(life context.Context) {
		var got answer
		got.err = a.call(life, acp.ClientMethodTerminalCreate, create, &got.made)
		answered <- got
	})
	limit := time.NewTimer(terminalTimeout)
	defer limit.Stop()
	select {
	case got := <-answered:
		return got.made.TerminalId, got.err
	case <-limit.C:
	case <-ctx.Done():
	}
	a.background(func(context.Context) {
		if got := <-answered; got.err == nil {
			a.killTerminal(ctx, create.SessionId, got.made.TerminalId)
			a.releaseTerminal(ctx, create.SessionId, got.made.TerminalId)
		}
	})
	return "", ErrNoTerminalYet
}

func (a *adapter) killTerminal(ctx context.Context, session acp.SessionId, terminal string) {
	var killed acp.KillTerminalResponse
	_ = a.terminalCall(ctx, acp.ClientMethodTerminalKill,
		acp.KillTerminalRequest{SessionId: session, TerminalId: terminal}, &killed)
}

func (a *adapter) releaseTerminal(ctx context.Context, session acp.SessionId, terminal string) {
	var done acp.ReleaseTerminalResponse
	_ = a.terminalCall(ctx, acp.ClientMethodTerminalRelease,
		acp.ReleaseTerminalRequest{SessionId: session, TerminalId: terminal}, &done)
}

// follow waits for the end of a terminal's command, and kills it when ctx ends first.
func (a *adapter) follow(ctx context.Context, session acp.SessionId, terminal string) Exit {
	var ended acp.WaitForTerminalExitResponse
	err := a.call(ctx, acp.ClientMethodTerminalWaitForExit,
		acp.WaitForTerminalExitRequest{SessionId: session, TerminalId: terminal}, &ended)
	if err != nil {
		a.killTerminal(ctx, session, terminal)
	}
	out := Exit{Code: -1}
	var shown acp.TerminalOutputResponse
	if a.terminalCall(ctx, acp.ClientMethodTerminalOutput,
		acp.TerminalOutputRequest{SessionId: session, TerminalId: terminal}, &shown) == nil {
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
		it.content = content
	}
	s.mu.Unlock()
	s.update(toolUpdate(itemID, acp.WithUpdateStatus(acp.ToolCallStatusInProgress),
		acp.WithUpdateContent(content)))
}
