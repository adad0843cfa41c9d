package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Tool is something that the model can run. Implementations are safe for concurrent use.
type Tool interface {
	Spec() Spec
	// Prepare reads a call's arguments and resolves what they name, once. The user is asked about
	// what it returns, and that is then run. The engine calls it before any call of the reply runs, and
	// again where a hook replaces the arguments. It changes nothing and is quick: the turn waits for
	// it. The call's functions show nothing yet. The error is for the model: the call ends with its
	// text, and the user is not asked.
	Prepare(ctx context.Context, call *Call) (*Prepared, error)
}

// Prepared is a call whose arguments were read. It belongs to that call; only Run is required.
type Prepared struct {
	Effect    Effect     // what the call can do; "": Spec.Effect
	Label     string     // what the call does, in a few words ("Read main.go"); "": Spec.Label
	Locations []Location // what the call is about, for clients that follow along
	Subject   *Subject   // what a permission request for the call is about; nil: nothing to ask
	// Locks names the resources (canonical paths) that the call touches; calls that share one never
	// overlap, except while one waits for the user (Call.Wait).
	Locks []string
	// Run carries the call out. It is called again after a TemporaryError of a call that only reads.
	// The error is for the model: its text becomes an error result. What Run does must end when ctx
	// ends; a call that continues is abandoned with a result that says so.
	Run func(ctx context.Context, call *Call) (*Result, error)
}

// Spec describes a tool. It does not change while the tool is registered.
type Spec struct {
	Name         string
	Aliases      []string          // other names under which models call it, case-insensitive
	Label        string            // short name for the screen
	Description  string            // for the model
	Schema       json.RawMessage   // JSON Schema of the arguments, an object
	ParamAliases map[string]string // other names of parameters, to the real ones
	BareItems    map[string]string // list parameter, to the property that a bare string among its objects stands for
	Strict       bool
	Effect       Effect
	Bounded      bool          // all that it does is judged by itself, as the calls of a sub-agent are
	Source       string        // "builtin", "mcp:<server>", …
	Deferred     bool          // announced by name only until loaded
	Timeout      time.Duration // of its own, above zero; the smaller one of it and Step.ToolTimeout counts
	MaxResult    int           // bytes of the result that the model gets; 0: the engine's default; negative: the tool bounds itself
	Hidden       bool          // its calls are not shown as items
}

// Effect is what running a tool can do.
type Effect string

// The effect classes. Neighbouring read-only calls run together, all others alone.
const (
	ReadOnly  Effect = "read_only"
	Mutates   Effect = "mutates"
	Dangerous Effect = "dangerous"
)

// Location is a place in a file.
type Location struct {
	URI   string         `json:"uri"`
	Range *message.Range `json:"range,omitempty"`
}

// Call is one run of a tool. Args passed the argument pipeline: a JSON object that fits the schema.
type Call struct {
	ID        string // the model's call id
	ItemID    string
	SessionID string
	TurnID    string
	Name      string
	Args      json.RawMessage
	Cwd       string   // the session's working directory, absolute
	Unboxed   bool     // the approver lets it run outside the sandbox
	Secrets   []string // secret files that the approver lets its command read

	// Output shows live output on the screen (agent/delta kind toolOutput). Never blocks; nil-safe
	// through Emit.
	Output func(text string)
	// Update changes the item on the screen: its status, label or proposal. Never blocks.
	Update func(Update)
	// Wait returns a context for waiting on a person: it ends with ctx, and when the user steers
	// meanwhile; context.Cause is then a *SteerError with the steer's text. The call's time limit
	// does not run meanwhile. It releases the call's locks for good: a tool that changes its
	// resources afterwards must check them again.
	Wait func(ctx context.Context) (context.Context, context.CancelFunc)
	// Pause stops the call's time limit until the returned function is called, for a wait on a
	// person that Wait is not used for; nil-safe through Paused.
	Pause func() (resume func())
	// Nested shows an item of a sub-agent below this call: ItemStarted, ItemUpdated, ItemCompleted
	// and ItemDelta are passed on with this call as parent, other events are not. Never blocks.
	Nested func(Event)
	// History returns the session's stored history, compactions aside. It must not be changed.
	History func() []*message.Message
	// Spent adds what a sub-agent used to this turn and session.
	Spent func(message.Usage)
}

// Update is a change of a running call's item. Zero fields stay as they are.
type Update struct {
	Status     ItemStatus
	Label      string
	ProposalID string
	Locations  []Location
	Plan       []PlanEntry // replaces the session's plan item
	Details    json.RawMessage
}

// Emit passes live output on, if anybody listens.
func (c *Call) Emit(text string) {
	if c.Output != nil && text != "" {
		c.Output(text)
	}
}

// Report passes an update on, if anybody listens.
func (c *Call) Report(u Update) {
	if c.Update != nil {
		c.Update(u)
	}
}

// Paused stops the call's time limit until resume is called; see Pause.
func (c *Call) Paused() (resume func()) {
	if c.Pause == nil {
		return func() {}
	}
	return c.Pause()
}

// WaitContext returns the context for waiting on a person; see Wait.
func (c *Call) WaitContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Wait == nil {
		return context.WithCancel(ctx)
	}
	return c.Wait(ctx)
}

// SteerError is the cause of a wait that ended because the user steered.
type SteerError struct{ Text string }

func (e *SteerError) Error() string { return "the user sent a message instead: " + e.Text }

// SteerText lets packages that do not know this one find what the user said.
func (e *SteerError) SteerText() string { return e.Text }

// Result is what a tool gives back.
type Result struct {
	Text      string          // for the model
	Content   []message.Block // images and files for the model, beside Text
	Details   json.RawMessage // for the screen only
	IsError   bool            // Text tells the model what was wrong
	CutOff    bool            // Text says already that the call was interrupted
	Denied    bool            // a person or the policy said no: not counted by the breaker, item status "denied"
	Missed    bool            // it ended, and not as the call wanted: a command's exit code, hunks that were not accepted
	Meta      ResultMeta
	Activate  []string // deferred tools to load from the next call on
	EndTurn   bool     // the turn ends with this result, unless a hook vetoes it or a steer waits; errors never end it
	Locations []Location
}

// ResultMeta says what a result holds, for reducers of the context. All fields are optional.
type ResultMeta struct {
	Kind    string `json:"kind,omitempty"`    // file, command, search, list
	Key     string `json:"key,omitempty"`     // what was read or run: canonical path with range, command with folder
	SHA256  string `json:"sha256,omitempty"`  // of the content shown
	Spill   string `json:"spill,omitempty"`   // file that holds the whole
	Changed bool   `json:"changed,omitempty"` // the call changed Key
}

// MetaKey is the key of message.Message.Meta under which a tool result's ResultMeta is stored.
const MetaKey = "result"
