package agent

import (
	"context"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
	"github.com/agent-lsp/agent-lsp/internal/keylock"
)

// Options make a session. Only ID is required.
type Options struct {
	ID     string
	Cwd    string // absolute
	Parent string // the session whose tool call this one works for; "": a user's

	Sink     Sink              // nil: events are dropped
	Store    Store             // nil: nothing is kept
	Approver toolcall.Approver // nil: everything is allowed

	// Environment provides what each step of a turn uses. nil: every turn fails with ErrNoProvider.
	Environment Environment
	// Spill keeps text that is too long for the model and returns the path under which a
	// tool can read it. nil: what does not fit is lost.
	Spill func(name, text string) (path string, err error)
	// Bug is told of a broken invariant. nil: ignored.
	Bug func(format string, args ...any)

	// QueueLimit is how many messages may wait; 0: DefaultQueueLimit. SetQueueLimit changes it.
	QueueLimit int

	Locks    *keylock.Locks // shared by sessions with the same files; nil: its own
	Starts   *Starts        // shared by the sessions of a process; nil: no limit
	Restored Restored
	NewID    func(prefix string) string // nil: random
	// takes secrets out of what is made of a prompt, its title; nil: nothing
	Redact func(text string) string
}

// Restored is what a store knows of a session.
type Restored struct {
	Messages  []*message.Message
	Commits   []*Commit
	Pins      []PinChange // in the order in which they were made
	Queue     []QueueEntry
	Title     string
	Usage     message.Usage
	Turns     []Turn
	Activated []string        // deferred tools that were loaded
	Paused    bool            //
	Started   map[string]bool // call ids of toolStart records
	// ResultFor gives the result text of a call that the restart cut off; "" or nil: the engine's.
	ResultFor func(call *message.ToolCall) string
}

// Environment is the engine's only source of what lies outside it: models, tools, settings and
// hooks. An implementation serves one session.
type Environment interface {
	// Next returns what the next step of a turn uses. The engine calls it before each model call,
	// from the turn's goroutine, and once for a compaction that the user requests. Next may block,
	// for example on a question to the user, until ctx ends. An error ends the turn; ErrNoProvider
	// says that no model can be called.
	Next(ctx context.Context, turn TurnInfo) (Step, error)
}

// EnvironmentFunc is a function as an Environment.
type EnvironmentFunc func(ctx context.Context, turn TurnInfo) (Step, error)

// Next calls f.
func (f EnvironmentFunc) Next(ctx context.Context,
	turn TurnInfo) (Step, error) {
	return f(ctx, turn)
}

// TurnInfo says for which step Next is called.
type TurnInfo struct {
	TurnID string // "" for a compaction that the user requests: nothing is delivered to the model
	Begins bool   // the turn's first step: no hook of the turn was called yet
	// Options are what the message that started the turn asks for, nil: nothing.
	Options *TurnOptions
}

// Step is what one step of a turn uses: a model call and the tool calls of its reply. The engine
// never changes it; a later step may have different values.
type Step struct {
	// Messages are added to the history before the model call. They are hidden from the user as a
	// rule.
	Messages []*message.Message
	// Hooks are called, in order, until the next step replaces them.
	Hooks []Hook

	Models     []Model // the first, then its fallbacks
	Tools      *tool.Registry
	System     []SystemBlock
	Sampling   Sampling
	Thinking   Thinking
	ToolChoice string
	CacheKey   string

	Limits       Limits
	Retry        retry.Policy // the zero value: retry.Default
	SteeringMode QueueMode
	FollowUpMode QueueMode
	MaxParallel  int           // read-only calls that run together; 0: MaxParallelCalls
	ToolTimeout  time.Duration // 0: toolcall.DefaultTimeout; negative: none
	// EndsTurn names the tools whose results, errors aside, end the turn; nil: none.
	EndsTurn  func(tool string) bool
	MaxResult int // 0: toolcall.DefaultMaxResult; negative: none

	Repair  repair.Options // what is mended and judged of replies; the zero value: nothing
	Context ContextConfig  // how the history is kept within the model's window
}

// Limits bound a turn. Zero means the default, negative means none.
type Limits struct {
	MaxModelCalls int
	Tokens        int     // of all model calls of the turn; 0: none
	Cost          float64 // of all model calls of the turn; 0: none
}

// QueueMode says how many queued messages are delivered at once.
type QueueMode string

// The modes. Steers default to all, follow-ups to one at a time: each starts a turn of its own.
const (
	QueueAll        QueueMode = "all"
	QueueOneAtATime QueueMode = "oneAtATime"
)

func (l Limits) maxModelCalls() int {
	if l.MaxModelCalls == 0 {
		return DefaultMaxModelCalls
	}
	return l.MaxModelCalls
}

func (st *Step) retryPolicy() retry.Policy {
	if p := st.Retry; p.MaxRetries != 0 || p.InitialDelay != 0 || p.MaxDelay != 0 {
		return p
	}
	return retry.Default()
}
