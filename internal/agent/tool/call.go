package tool

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Call is one run of a tool. The engine creates it, and the tool may use it until Prepared.Run
// returns. The functions are nil in a call that is only prepared, and in tests. They may be called
// from any goroutine.
type Call struct {
	ID        string // the model's ID for the call
	ItemID    string
	SessionID string
	TurnID    string
	Name      string          // the tool's real name, even if the model used an alias
	Args      json.RawMessage // a JSON object that fits Spec.Schema
	Object    map[string]any  // decoded Args, shared by all readers; read-only; use Decode
	Cwd       string          // the session's working directory, absolute
	Unboxed   bool            // whether the approver allows the call to run outside the sandbox
	Secrets   []string        // secret files that the approver allows the command to read

	// Output shows live output to the user. It never blocks. Use Emit, which allows nil.
	Output func(text string)
	// Update changes the call's item: its waiting status, its label or its proposal. It never
	// blocks. Use Report, which allows nil.
	Update func(Update)
	// Wait returns a context for waiting for the user. The context ends with ctx, or when the user
	// steers. In the second case, context.Cause returns a *SteerError. The call's time limit is
	// stopped until the CancelFunc is called. Wait releases the call's locks permanently, so a tool
	// that changes its files after the wait must check them again. Use WaitContext, which allows
	// nil.
	Wait func(ctx context.Context) (context.Context, context.CancelFunc)
	// Pause stops the call's time limit until resume is called. A tool calls it if it waits for
	// the user without Wait. Use Paused, which allows nil.
	Pause func() (resume func())
	// Nested shows an item of a sub-agent below this call. It passes on ItemStarted, ItemUpdated,
	// ItemCompleted and ItemDelta, and drops other events. It never blocks.
	Nested func(SessionEvent)
	// History returns the session's stored history without its compactions. The tool must not
	// change it.
	History func() []*message.Message
	// Spent adds the usage of a sub-agent to this session, and to this turn or, if it has ended, to
	// the next one. Background work may call it after the call has ended.
	Spent func(message.Usage)
}

// SessionEvent is an agent.Event. Only package agent implements it. It is declared here because
// that package imports this one.
type SessionEvent interface{ SessionEvent() }

// Update is a change of a running call's item. Zero fields change nothing.
type Update struct {
	Status     Status
	Label      string
	ProposalID string
	Locations  []Location
	Plan       []PlanEntry // replaces the session's plan item
	Details    json.RawMessage
}

// Status is the status of a running call. The engine sets all other statuses of an item.
type Status string

// The statuses that a tool may report. The last two mean that the call waits for the user.
const (
	StatusRunning            Status = "running"
	StatusAwaitingPermission Status = "awaitingPermission"
	StatusAwaitingReview     Status = "awaitingReview"
)

// PlanEntry is one line of the task list.
type PlanEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, inProgress, completed
}

// Emit calls Output if it is set and text is not empty.
func (c *Call) Emit(text string) {
	if c.Output != nil && text != "" {
		c.Output(text)
	}
}

// Report calls Update if it is set.
func (c *Call) Report(u Update) {
	if c.Update != nil {
		c.Update(u)
	}
}

// Paused calls Pause if it is set. The returned function is never nil.
func (c *Call) Paused() (resume func()) {
	if c.Pause == nil {
		return func() {}
	}
	return c.Pause()
}

// WaitContext calls Wait if it is set, and otherwise returns a context that ends with ctx.
func (c *Call) WaitContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Wait == nil {
		return context.WithCancel(ctx)
	}
	return c.Wait(ctx)
}

// SteerError is the cause that a context of Call.Wait reports if the user has steered.
type SteerError struct{ Text string }

func (e *SteerError) Error() string { return "the user sent a message instead: " + e.Text }

// SteerText returns the user's message, for packages that must not import this one.
func (e *SteerError) SteerText() string { return e.Text }
