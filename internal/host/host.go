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

// closeGrace limits how long a session that is being unloaded may take to end its work. An abort
// completes within 2 s.
const closeGrace = 3 * time.Second

// ErrClosing is the error for a session that has to be loaded or created after Close.
var ErrClosing = errors.New("agent-lsp is shutting down")

// Options configure a host. Workspace, Library, Settings and Prepare are required.
type Options struct {
	Workspace *workspace.Workspace
	Library   *session.Library
	Settings  Settings
	Questions *Questions // questions for the user; may be nil
	// Prepare returns the engine's options for a session that is created or loaded, such as
	// Environment and Approver. The host then sets ID, Cwd, Sink, Store and Restored. It keeps
	// Restored.ResultFor and Restored.Activated.
	Prepare func(ctx context.Context, s SessionInfo) (agent.Options, error)
	// Configured is called when a session's configuration may have changed. It may be nil.
	Configured func(sessionID string)
	// Closed is called after a session has been released, deleted or closed with the host, but not
	// when it is reloaded. If deleted is true, the session's jobs must also end. Closed may be nil.
	Closed func(sessionID string, deleted bool)
}

// SessionInfo describes the session to prepare. Its functions may be called from any goroutine,
// even before Prepare returns.
type SessionInfo struct {
	ID     string
	Cwd    string
	Config func() config.Config // the effective configuration; Session.Configure changes it
	Store  *session.Session
	Loaded *session.Loaded // nil for a new session
	// Notice shows a line of text to the user in this session.
	Notice func(level, text string)
	// Notify adds a message that does not come from the user, such as a note that a job has ended.
	Notify func(m *message.Message, wake bool)
}

// Settings merges the layers of configuration. It is safe for concurrent use.
type Settings interface {
	// Session returns the effective configuration of a session, and notices for the user about
	// ignored settings. own is the session's own layer and may be nil. The error names the invalid
	// field.
	Session(own json.RawMessage) (config.Config, []string, error)
	// Storable returns own without the keys that a session cannot set.
	Storable(own json.RawMessage) json.RawMessage
	// Merge merges changes into a session's own configuration.
	Merge(own, changes json.RawMessage) (json.RawMessage, error)
}

// Host holds the loaded sessions. Its methods may be called from any goroutine. Methods with a
// context may read from disk and wait for another load of the same session.
type Host struct {
	opts Options

	clients *Clients
	feeds   feedTable

	mu      sync.Mutex
	closed  bool
	byID    map[string]*Session
	loading map[string]chan struct{} // closed when loading or unloading has finished

	refresh sync.Mutex // serializes Fresh
}

var _ agent.Sink = (*Host)(nil)

// New returns a host without sessions. To end it, call Close and then CloseStores.
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

// Subscriber receives the notifications of all sessions, in the order of their numbers. Its methods
// run on the goroutine that causes a notification. For each session, only one method runs at a
// time. They must not block and must not call the host.
type Subscriber interface {
	// Notify receives every notification except deltas.
	Notify(n Notification)
	// Delta receives a piece of an item's text.
	Delta(sessionID string, seq int64, d agent.ItemDelta)
	// Merge adds a piece of text to an unsent delta of the same item, so that both share one
	// number. It reports whether there was such a delta. The host calls it only if there is no
	// other subscriber.
	Merge(sessionID string, d agent.ItemDelta) bool
	// Replace replaces an unsent state that has the session's last number with a later state. It
	// reports whether there was such a state. Like Merge, it is called only if there is no other
	// subscriber.
	Replace(sessionID string, seq int64, s agent.State) bool
}

// Watcher receives each event except ItemDelta when it is delivered, even without a subscriber. It
// must not block and must not call a session.
type Watcher func(sessionID string, e agent.Event)

// Notification is one event of a session.
type Notification struct {
	SessionID string
	Seq       int64 // increases over the session's lifetime
	Replay    bool  // sent by Session.Replay
	// Event is any agent.Event except ItemDelta, or a workspace.ProposalEvent, ConfigChanged or
	// QuestionClosed. Receivers must not modify the values that it refers to.
	Event any
}

// ConfigChanged reports the effective configuration together with the session's state.
type ConfigChanged struct {
	State  agent.State
	Config config.Config
}

// QuestionClosed reports that a question to the user no longer needs an answer.
type QuestionClosed struct{ RequestID string }

// Questions returns the questions to the user.
func (h *Host) Questions() *Questions { return h.opts.Questions }

// Clients returns the connections that use the host.
func (h *Host) Clients() *Clients { return h.clients }
