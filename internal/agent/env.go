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

// Options configure a session. Only ID is required.
type Options struct {
	ID     string
	Cwd    string // absolute
	Parent string // the session whose tool call created this one; "" if a user created it

	Sink     Sink              // nil means that events are dropped
	Store    Store             // nil means that nothing is stored
	Approver toolcall.Approver // nil means that everything is allowed

	// Environment provides the values for each step of a turn. If it is nil, every turn fails with
	// ErrNoProvider.
	Environment Environment
	// Spill stores text that is too long for the model. It returns a path that a tool can read. If
	// Spill is nil, the text that the model does not get is lost.
	Spill func(name, text string) (path string, err error)
	// Bug is called when an invariant is broken. It may be nil.
	Bug func(format string, args ...any)

	// QueueLimit is the maximum number of queued messages. 0 means DefaultQueueLimit. SetQueueLimit
	// changes it.
	QueueLimit int

	Locks    *keylock.Locks // shared by sessions with the same files; nil means not shared
	Starts   *Starts        // shared by all sessions of the process; nil means no limit
	Restored Restored
	NewID    func(prefix string) string // nil means random IDs
	// Redact removes secrets from the title that is derived from a prompt. If it is nil, nothing is
	// removed.
	Redact func(text string) string
}

// Restored is a session's stored state.
type Restored struct {
	Messages  []*message.Message
	Commits   []*Commit
	Pins      []PinChange // in chronological order
	Queue     []QueueEntry
	Title     string
	Usage     message.Usage
	Turns     []Turn
	Activated []string        // deferred tools that were loaded
	Paused    bool            // whether the session is paused
	Started   map[string]bool // IDs of calls that have started
	// ResultFor returns the result text of a call that the restart interrupted. If it is nil or
	// returns "", the engine's own text is used.
	ResultFor func(call *message.ToolCall) string
}

// Environment is the engine's only source of models, tools, settings and hooks. An implementation
// serves one session.
type Environment interface {
	// Next returns the values for the next step of a turn. The engine calls Next on the turn's
	// goroutine before each model call, and once for a compaction that the user requests. Next may
	// block, for example on a question to the user, until ctx ends. An error ends the turn.
	// ErrNoProvider reports that no model can be called.
	Next(ctx context.Context, turn TurnInfo) (Step, error)
}

// EnvironmentFunc is a function that implements Environment.
type EnvironmentFunc func(ctx context.Context, turn TurnInfo) (Step, error)

// Next calls f.
func (f EnvironmentFunc) Next(ctx context.Context,
	turn TurnInfo) (Step, error) {
	return f(ctx, turn)
}

// TurnInfo describes the step for which Next is called.
type TurnInfo struct {
	TurnID string // "" for a compaction that the user requests, which delivers nothing to the model
	Begins bool   // whether this is the turn's first step and none of its hooks has been called
	// Options are the options of the message that started the turn, or nil.
	Options *TurnOptions
}

// Step contains the values for one step of a turn, which is a model call with the tool calls of its
// reply. The engine never changes a Step. A later step may have different values.
type Step struct {
	// Messages are added to the history before the model call. They are usually hidden from the
	// user.
	Messages []*message.Message
	// Hooks are called, in order, until the next step replaces them.
	Hooks []Hook

	Models     []Model // the preferred model, then its fallbacks
	Tools      *tool.Registry
	System     []SystemBlock
	Sampling   Sampling
	Thinking   Thinking
	ToolChoice string
	CacheKey   string

	Limits       Limits
	Retry        retry.Policy // the zero value means retry.Default
	SteeringMode QueueMode
	FollowUpMode QueueMode
	MaxParallel  int           // maximum number of concurrent read-only calls; 0: MaxParallelCalls
	ToolTimeout  time.Duration // 0 means toolcall.DefaultTimeout, negative means no limit
	// EndsTurn reports whether a tool's successful result ends the turn. If it is nil, no result
	// ends it.
	EndsTurn  func(tool string) bool
	MaxResult int // 0 means toolcall.DefaultMaxResult, negative means no limit

	Repair  repair.Options // repairs and checks that apply to replies; the zero value means none
	Context ContextConfig  // how to keep the history within the model's window
}

// Limits bound a turn. Zero means the default, negative means no limit.
type Limits struct {
	MaxModelCalls int
	Tokens        int     // limit for all model calls of the turn; 0 means no limit
	Cost          float64 // limit for all model calls of the turn; 0 means no limit
}

// QueueMode determines how many queued messages are delivered together.
type QueueMode string

// The modes. The default for steers is all. The default for follow-ups is one at a time, so that
// each starts its own turn.
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
