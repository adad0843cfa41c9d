package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Tool is something that the model can run. One Tool serves all calls, so an implementation must be
// safe for concurrent use.
type Tool interface {
	// Spec describes the tool. The registry calls it once.
	Spec() Spec
	// Prepare decodes a call's arguments and resolves the files that they name, once. The engine
	// calls it from the turn's goroutine before any call of the reply runs, and from the call's
	// goroutine after a hook replaced the arguments. The turn waits for it, so it must be quick. It
	// must not change anything, and must not use the functions of call. An error ends the call: the
	// model gets its text, and the user is not asked.
	Prepare(ctx context.Context, call *Call) (*Prepared, error)
}

// Prepared is a call with decoded arguments. It belongs to that call. Only Run is required.
type Prepared struct {
	Effect    Effect     // what the call can do; "": Spec.Effect
	Label     string     // what the call does, in a few words ("Read main.go"); "": Spec.Title
	Locations []Location // what the call concerns, for clients that follow the agent
	Subject   *Subject   // what a permission request for the call is about; nil: there is none
	// Locks names the resources (canonical paths) that the call uses. Calls that share one never
	// overlap, in all sessions that share their locks. Call.Wait releases them.
	Locks []string
	// Reads names the files and folders (canonical paths) that a read-only call looks at: it can
	// run while the user decides about edits of other files. Nil: it may look at everything; empty:
	// at nothing that an edit changes.
	Reads []string
	// Run runs the call, in a goroutine of its own. The engine calls it again after a
	// TemporaryError of a call that only reads. An error becomes an error result with its text. Run
	// must return soon after ctx ends: otherwise the engine abandons the call and reports that.
	Run func(ctx context.Context, call *Call) (*Result, error)
}

// Spec describes a tool. It does not change while the tool is registered.
type Spec struct {
	Name         string
	Aliases      []string          // other names that models use for it, case-insensitive
	Label        string            // short name for the user
	Description  string            // for the model
	Schema       json.RawMessage   // JSON Schema of the arguments, an object
	ParamAliases map[string]string // other names of parameters, to the real ones
	// BareItems maps a list parameter to the property that a bare string among its objects means.
	BareItems map[string]string
	Strict    bool // providers that support it are asked to enforce Schema
	Effect    Effect
	Bounded   bool   // its actions have their own limits, like the calls of a sub-agent
	Source    string // "builtin", "mcp:<server>", …
	Deferred  bool   // the model gets only its name until it is loaded
	// Timeout is its own limit if above zero. The smaller one of it and Step.ToolTimeout applies.
	Timeout time.Duration
	// MaxResult limits the bytes of a result that the model gets. 0: the engine's default;
	// negative: the tool limits its results.
	MaxResult int
	Hidden    bool // its calls are not shown as items
}

// Title returns the label of a call for which Prepared.Label is empty.
func (s *Spec) Title() string { return cmp.Or(s.Label, s.Name) }

// Effect is what running a tool can do.
type Effect string

// The effect classes. Consecutive read-only calls of a reply run in parallel.
const (
	ReadOnly  Effect = "read_only"
	Mutates   Effect = "mutates"
	Dangerous Effect = "dangerous"
)

// Location is a file or a range of it.
type Location struct {
	URI   string         `json:"uri"`
	Range *message.Range `json:"range,omitempty"`
}
