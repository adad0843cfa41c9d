package host

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// closeGrace bounds the end of a session that is taken out: an abort completes within 2 s.
const closeGrace = 3 * time.Second

// ErrClosing is the error of a request for a session that comes after Close.
var ErrClosing = errors.New("agent-lsp is ending")

// Options are what a host works with. Workspace, Library, Settings and Prepare are required.
type Options struct {
	Workspace *workspace.Workspace
	Library   *session.Library
	Settings  Settings
	Questions *Questions // what is asked of the user; nil: nothing is
	// Prepare returns the engine's options for a session that is created or loaded: Environment,
	// Approver, Spill, QueueLimit, Locks, Bug. The host sets ID, Cwd, Sink, Store and Restored
	// afterwards (Restored.ResultFor and Activated are kept).
	Prepare func(ctx context.Context, s SessionInfo) (agent.Options, error)
	// Closed is called when a session is no longer loaded; its jobs end where it is deleted. nil:
	// nothing depends on it.
	Closed func(sessionID string, deleted bool)
}

// SessionInfo says which session Prepare is asked about. Its functions may be called from any
// goroutine, also before Prepare returns.
type SessionInfo struct {
	ID     string
	Cwd    string
	Config func() config.Config // in effect now; it changes with Session.Configure
	Store  *session.Session
	Loaded *session.Loaded // nil: the session is new
	// Notice shows the user a line in this session.
	Notice func(level, text string)
	// Notify adds a message that the user did not type (a job's end).
	Notify func(m *message.Message, wake bool)
}

// Settings merges the layers of configuration. Safe for concurrent use.
type Settings interface {
	// Session returns the configuration in effect for a session whose own is given (nil: none),
	// with notices for the user of what was ignored. The error names the field that is wrong.
	Session(own json.RawMessage) (config.Config, []string, error)
	// Merge lays changes over a session's own configuration.
	Merge(own, changes json.RawMessage) (json.RawMessage, error)
}

// Host holds the loaded sessions. Its methods may be called from any goroutine; those with a
// context may read the disk, and wait for another load of the same session.
type Host struct {
	opts Options

	clients *Clients
	feeds   feedTable

	mu      sync.Mutex
	closed  bool
	byID    map[string]*Session
	loading map[string]chan struct{} // closed when a load is over

	refresh sync.Mutex // one reading again at a time
}

var _ agent.Sink = (*Host)(nil)

// New returns a host without sessions. Close it, then CloseStores.
func New(o Options) *Host {
	h := &Host{
		opts:    o,
		byID:    map[string]*Session{},
		loading: map[string]chan struct{}{},
	}
	if h.opts.Questions == nil {
		h.opts.Questions = NewQuestions()
	}
	h.opts.Questions.host = h
	h.feeds.byID = map[string]*feed{}
	h.clients = newClients(&h.feeds)
	return h
}

// Subscriber gets the notifications of all sessions, in the order of their numbers. Its methods
// are called from the goroutine that causes a notification, one at a time for a session; they
// must not block and must not call the host.
type Subscriber interface {
	// Notify gets any notification but a delta.
	Notify(n Notification)
	// Delta gets a piece of an item's text.
	Delta(sessionID string, seq int64, d agent.ItemDelta)
	// Merge adds a piece to one of the same item that has not been sent yet, so that the two
	// take one number. It reports whether there was one. A subscriber that is not the only one
	// is not asked.
	Merge(sessionID string, d agent.ItemDelta) bool
	// Replace replaces a state by a later one: one that has not been sent yet and has the session's
	// last number. It reports whether there was one. As with Merge.
	Replace(sessionID string, seq int64, s agent.State) bool
}

// Watcher gets each event when it is delivered, also where there is no subscriber. It must not
// block and must not call a session.
type Watcher func(sessionID string, e agent.Event)

// Notification is one event of a session.
type Notification struct {
	SessionID string
	Seq       int64 // counts over the session's whole life
	Replay    bool  // by Session.Replay
	// Event is an agent.Event but ItemDelta, or a workspace.ProposalEvent, ConfigChanged or
	// QuestionClosed. What it refers to must not be changed.
	Event any
}

// ConfigChanged reports the configuration in effect, together with the session's state.
type ConfigChanged struct {
	State  agent.State
	Config config.Config
}

// QuestionClosed reports that a question to the user needs no answer.
type QuestionClosed struct{ RequestID string }

// Questions returns what is asked of the user.
func (h *Host) Questions() *Questions { return h.opts.Questions }

// Clients returns the connections that use the host.
func (h *Host) Clients() *Clients { return h.clients }
