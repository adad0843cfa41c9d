package agentapi

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// Options configure an API for a front end.
type Options struct {
	Version string // reported by agent/status
	// Subscriber receives the past events of a session that is loaded with replay.
	Subscriber host.Subscriber
	// AskAgain repeats a session's open questions for a client that has loaded it again. It is nil
	// if the client does not need this.
	AskAgain func(sessionID string)
}

// API answers agent/* for one client. The client has a current session, which is used by requests
// that do not name a session. The exported methods with wire params are the requests. They may be
// called from any goroutine. WireError converts their errors.
type API struct {
	opts Options
	core atomic.Pointer[Core] // nil before Open

	mu      sync.Mutex
	current string
}

// New returns an API. It answers requests once Open was called.
func New(o Options) *API { return &API{opts: o} }

// Open sets the core that the API uses. It is called once.
func (a *API) Open(core *Core) { a.core.Store(core) }

// Core returns the core that the API uses, or nil before Open.
func (a *API) Core() *Core { return a.core.Load() }

// Host returns the host of the sessions, or nil before Open.
func (a *API) Host() *host.Host {
	if core := a.Core(); core != nil {
		return core.Host
	}
	return nil
}

// Loaded returns a loaded session, or nil.
func (a *API) Loaded(id string) *host.Session {
	if h := a.Host(); h != nil {
		return h.Loaded(id)
	}
	return nil
}

// get returns a session and loads it if necessary.
func (a *API) get(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		return nil, Invalid("sessionId", "is missing")
	}
	return a.Host().Get(ctx, id)
}

// writable returns a session that this daemon may write (wire code 1009 if another daemon is
// writing it).
func (a *API) writable(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		return nil, Invalid("sessionId", "is missing")
	}
	return a.Host().Writable(ctx, id)
}

// fresh returns a session as it is stored, even if another daemon has written it.
func (a *API) fresh(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		return nil, Invalid("sessionId", "is missing")
	}
	return a.Host().Fresh(ctx, id)
}

// create creates a session and makes it the current one.
func (a *API) create(ctx context.Context, p *wire.SessionNewParams) (*host.Session, error) {
	cwd, err := a.cwd(p.Cwd)
	if err != nil {
		return nil, err
	}
	if _, _, err := a.Core().Settings.Session(p.Config); err != nil {
		return nil, Invalid("config", "%v", err)
	}
	seeds, err := seedMessages(p.Messages)
	if err != nil {
		return nil, err
	}
	l, err := a.Host().Create(ctx, host.NewSession{
		Cwd: cwd, Title: p.Title, Origin: p.Origin, Config: p.Config, Messages: seeds,
	})
	if err != nil {
		return nil, err
	}
	a.SetCurrent(l.ID)
	return l, nil
}

// delete removes a session that is not busy.
func (a *API) delete(ctx context.Context, l *host.Session) error {
	a.forget(l.ID)
	return a.Host().Delete(ctx, l)
}

// Release unloads a session, which stays stored.
func (a *API) Release(ctx context.Context, id string) error {
	a.forget(id)
	return a.Host().Release(ctx, id)
}

// SetCurrent sets the session for requests that do not name a session.
func (a *API) SetCurrent(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current = id
}

// forget resets the current session if that session ends.
func (a *API) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current == id {
		a.current = ""
	}
}

// Current returns the ID of the session for requests that do not name a session, or "".
func (a *API) Current() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current
}

// orCurrent returns the session that a request changes: the named session, otherwise the current
// one, otherwise a new one.
func (a *API) orCurrent(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		id = a.Current()
	}
	if id != "" {
		return a.writable(ctx, id)
	}
	return a.create(ctx, &wire.SessionNewParams{})
}

// holdFor holds back a session's notifications until the request of ctx has been answered. The
// response must precede the notifications that the request causes.
func (a *API) holdFor(ctx context.Context, id string) { a.Host().HoldFor(ctx, id) }

// noticeIn shows a line of text to the user in a session.
func (a *API) noticeIn(sessionID, level, text string) {
	if l := a.Loaded(sessionID); l != nil {
		l.Engine.Notice(level, text)
	}
}
