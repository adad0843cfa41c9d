package acp

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"
	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/rpc/acp/content"
)

const (
	// terminalTimeout bounds terminal/* requests, except wait_for_exit. Most clients answer without
	// asking the user.
	terminalTimeout = 5 * time.Second
	// abortTimeout bounds each terminal/* request once the command must end. An abort completes
	// within 2 s.
	abortTimeout = 500 * time.Millisecond
)

// Command is a command to run in a client's terminal.
type Command struct {
	SessionID, ItemID string // the tool call to which it belongs
	Argv              []string
	Dir               string
	Env               []string // variables as name=value; the client adds them to its own
	OutputBytes       int      // maximum number of bytes kept from the end of the output
}

// Exit describes how a command ended.
type Exit struct {
	Output    string
	Truncated bool // Output contains only the end of the output
	Code      int  // -1 if the command was killed
	Signal    string
}

// Terminal runs commands in the client's terminals.
type Terminal interface {
	// Offered reports whether the client has terminals.
	Offered() bool
	// Run runs a command until it ends, or until ctx ends, which kills it. The terminal is always
	// released. Except for ErrNoTerminalYet, an error means that no terminal was created and
	// nothing has run. The error is ErrNoTerminals if it turns out that the client has no
	// terminals. Any other error is the client's refusal.
	Run(ctx context.Context, cmd Command) (Exit, error)
}

// ErrNoTerminalYet reports that the client did not answer in time whether it creates a terminal. If
// it creates one later, the command is killed. The effects of the command until then are unknown.
var ErrNoTerminalYet = errors.New("the editor did not report in time whether it created a terminal")

// ErrNoTerminals reports that the client announced terminals but does not support the request.
var ErrNoTerminals = errors.New("the editor has no terminals")

var _ Terminal = (*adapter)(nil)

// Offered implements Terminal.
func (a *adapter) Offered() bool { return a.client.Terminal }

// Run implements Terminal.
func (a *adapter) Run(ctx context.Context, cmd Command) (Exit, error) {
	s, err := a.session(cmd.SessionID)
	if err != nil {
		return Exit{}, ErrNoTerminals // the client does not know the session
	}
	create := acp.CreateTerminalRequest{SessionId: acp.SessionId(s.id), Command: cmd.Argv[0],
		Args: cmd.Argv[1:], Cwd: &cmd.Dir, OutputByteLimit: &cmd.OutputBytes}
	for _, kv := range cmd.Env {
		name, value, _ := strings.Cut(kv, "=")
		create.Env = append(create.Env, acp.EnvVariable{Name: name, Value: value})
	}
	terminal, err := a.createTerminal(ctx, create)
	if err != nil {
		return Exit{}, notMade(err)
	}
	defer a.releaseTerminal(ctx, create.SessionId, terminal)
	s.showTerminal(cmd.ItemID, terminal)
	return a.follow(ctx, create.SessionId, terminal), nil
}

// notMade returns the reason why a client did not create a terminal. Clients may ask the user or
// apply a policy of their own, and report a refusal with any error code. Only "method not found"
// means that the client has no terminals.
func notMade(err error) error {
	var e *jsonrpc2.Error
	if !errors.As(err, &e) {
		return err
	}
	if int(e.Code) == codeMethodNotFound {
		return ErrNoTerminals
	}
	return errors.New(refusal(err))
}

// createTerminal requests a terminal. If the terminal is created after the caller has stopped
// waiting, its command is killed. Otherwise, the command would run unnoticed, possibly at the same
// time as a retry.
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

// follow waits until a terminal's command ends. It kills the command if ctx ends first.
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

// terminalCall sends a request about a terminal. It works even after the end of ctx, but then with
// a shorter time limit.
func (a *adapter) terminalCall(ctx context.Context, method string, params, result any) error {
	limit := terminalTimeout
	if ctx.Err() != nil {
		limit = abortTimeout
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer done()
	return a.call(ctx, method, params, result)
}

// showTerminal makes the client show the terminal together with its tool call, even after the call
// has ended.
func (s *session) showTerminal(itemID, terminal string) {
	shown := []acp.ToolCallContent{acp.ToolTerminalRef(terminal)}
	s.mu.Lock()
	if it := s.items[itemID]; it != nil {
		it.shown.Content = shown
	}
	s.mu.Unlock()
	s.update(content.ToolUpdate(itemID, acp.WithUpdateStatus(acp.ToolCallStatusInProgress),
		acp.WithUpdateContent(shown)))
}
