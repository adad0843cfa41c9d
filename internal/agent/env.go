package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// Options make a session. Only ID is required.
type Options struct {
	ID     string
	Cwd    string // absolute
	Parent string // the session whose tool call this one works for; "": a user's

	Sink     Sink     // nil: nobody listens
	Store    Store    // nil: nothing is kept
	Approver Approver // nil: everything is allowed

	// Env is read anew before each model call, from the turn's goroutine. An error ends the turn.
	Env func() (Env, error)
	// Ready is asked by Prompt and Steer before they start a turn; its error refuses the
	// prompt. It must be quick. nil: always ready.
	Ready func() error
	// OnBoundary is asked at each boundary, before a model call, for messages that the
	// model should see (hidden ones as a rule). It may block; the turn waits.
	OnBoundary func() []*message.Message
	// Spill keeps text that is too long for the model and returns the path under which a
	// tool can read it. nil: what does not fit is lost.
	Spill func(name, text string) (path string, err error)
	// Bug is told of a broken invariant. nil: ignored.
	Bug func(format string, args ...any)

	// QueueLimit says how many messages may wait; nil or 0: DefaultQueueLimit. It must be quick.
	QueueLimit func() int

	Hooks []Hook
	// MoreHooks are called after Hooks. It is asked anew each time, and must be quick; nil: none.
	MoreHooks func() []Hook

	Locks    *Locks  // shared by sessions that touch the same files; nil: the session's own
	Starts   *Starts // shared by the sessions of a process; nil: turns start whenever they may
	Restored Restored
	NewID    func(prefix string) string // nil: random
	Redact   func(text string) string   // takes secrets out of what is made of a prompt, its title; nil: nothing
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

// Env is what a model call is made of. It may differ from call to call.
type Env struct {
	Models     []Model // the first, then its fallbacks
	Tools      *Registry
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
	ToolTimeout  time.Duration // 0: DefaultToolTimeout; negative: none
	// EndsTurn names the tools whose results, errors aside, end the turn; nil: none.
	EndsTurn  func(tool string) bool
	MaxResult int // 0: DefaultMaxResult; negative: none

	Repair     repair.Options // what is mended and judged of replies; the zero value: nothing
	Context    ContextConfig  // how the history is kept within the model's window
	Transform  []Transformer  // stages that make the model's view of the history
	Convert    Converter      // nil: ConvertToModel
	Executor   Executor       // nil: the ordered scheduler
	Middleware []Middleware   // around each run of a tool, outermost first
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

// Transformer is a stage between the history and the model call. It returns msgs itself
// or a new slice; it never changes a message and never splits a call from its result.
type Transformer interface {
	Transform(ctx context.Context, msgs []*message.Message) ([]*message.Message, error)
}

// Converter makes model messages of the history's: the one place where what is not for
// the model is left out.
type Converter func(msgs []*message.Message) []*message.Message

// Executor runs the calls of one assistant message. run never panics and always gives a
// result; results that Execute leaves out are made up by the engine.
type Executor interface {
	Execute(ctx context.Context, calls []PreparedCall, run func(i int))
}

// PreparedCall is what an Executor knows of a call.
type PreparedCall struct {
	Name   string
	Args   json.RawMessage
	Effect Effect
	Failed bool // has its result already: running it does nothing but report
}

// Runner runs a tool.
type Runner func(ctx context.Context, call *Call) (*Result, error)

// Middleware wraps the running of a tool: it may answer instead, or change the arguments or the result.
type Middleware func(tool Tool, next Runner) Runner

func (l Limits) maxModelCalls() int {
	if l.MaxModelCalls == 0 {
		return DefaultMaxModelCalls
	}
	return l.MaxModelCalls
}

func (e *Env) retryPolicy() retry.Policy {
	if p := e.Retry; p.MaxRetries != 0 || p.InitialDelay != 0 || p.MaxDelay != 0 {
		return p
	}
	return retry.Default()
}
