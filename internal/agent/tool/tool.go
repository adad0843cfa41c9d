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
	// calls it from the turn's goroutine before any call of the reply runs. If a hook replaces the
	// arguments, the engine calls it again from the call's goroutine. The turn waits for Prepare,
	// so it must be quick. It must not change anything, and must not use the functions of call. An
	// error ends the call. The model gets the error's text, and the user is not asked.
	Prepare(ctx context.Context, call *Call) (*Prepared, error)
}

// Prepared is a call with decoded arguments. It belongs to that call. Only Run is required.
type Prepared struct {
	Effect    Effect     // what the call can do; "" means Spec.Effect
	Label     string     // describes the call in a few words ("Read main.go"); "" means Spec.Title
	Locations []Location // files that the call concerns, for clients that follow the agent
	Subject   *Subject   // subject of a permission request for the call; nil means none
	// Preview returns what the user sees in a permission request in addition to the subject, such
	// as the diff of an edit. It is called only if the user is asked, and must not change anything.
	// It may be nil.
	Preview func(ctx context.Context) string
	// Locks names the resources (canonical paths) that the call uses. Calls that share a resource
	// never overlap, even in different sessions that share their locks. Call.Wait releases the
	// locks.
	Locks []string
	// Reads names the files and folders (canonical paths) that a read-only call reads. The call can
	// run while the user decides about edits of other files. If Reads is nil, the call may read
	// anything. If it is empty, the call reads nothing that an edit changes.
	Reads []string
	// Ready computes what Run needs, once the call is allowed. It runs before Run, while the reply
	// is synced to disk, so it must not have an effect that the user would notice. It may be nil.
	Ready func(call *Call)
	// Run runs the call in a separate goroutine. If a read-only call returns a TemporaryError, the
	// engine calls Run again. Any other error becomes an error result with the error's text. Run
	// must return soon after ctx ends. Otherwise, the engine abandons the call and reports that.
	Run func(ctx context.Context, call *Call) (*Result, error)
}

// Spec describes a tool. It does not change while the tool is registered.
type Spec struct {
	Name         string
	Aliases      []string          // other names that models use for the tool, case-insensitive
	Label        string            // short name for the user
	Description  string            // for the model
	Schema       json.RawMessage   // JSON Schema of the arguments, an object
	ParamAliases map[string]string // other names of parameters, mapped to the real ones
	// BareItems maps a list parameter to a property of its objects. A bare string in the list
	// stands for an object with only that property.
	BareItems map[string]string
	Effect    Effect
	Bounded   bool   // the tool's actions have their own time limits, as in a sub-agent
	Source    string // "builtin", "mcp:<server>", …
	Deferred  bool   // the model gets only its name until it is loaded
	// Timeout is the tool's own time limit if above zero. The smaller of Timeout and
	// Step.ToolTimeout applies. Step.ToolTimeout does not apply to a Bounded tool.
	Timeout time.Duration
	// MaxResult limits the bytes of a result that the model gets. 0 means the engine's default. A
	// negative value means that the tool limits its results itself.
	MaxResult int
	Hidden    bool // the tool's calls are not shown as items
}

// Title returns the label of a call for which Prepared.Label is empty.
func (s *Spec) Title() string { return cmp.Or(s.Label, s.Name) }

// Effect classifies the possible effects of running a tool.
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
