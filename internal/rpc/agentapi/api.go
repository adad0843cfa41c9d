package agentapi

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// Options are what a front end gives its API.
type Options struct {
	Version string // reported by agent/status
	// Subscriber gets the past of a session that is loaded with replay.
	Subscriber host.Subscriber
	// AskAgain repeats a session's open questions for a client that has loaded it again. nil: the
	// client does not need that.
	AskAgain func(sessionID string)
}

// API answers agent/* for one client, which has a current session: the one that is meant if a
// request names none. The exported methods that take params of the wire are the requests. They may
// be called from any goroutine; their errors become the wire's by WireError.
type API struct {
	opts Options
	core atomic.Pointer[Core] // nil before Open

	mu      sync.Mutex
	current string
}

// New returns an API that answers nothing before Open.
func New(o Options) *API { return &API{opts: o} }

// Open gives the API what it answers from. It is called once.
func (a *API) Open(core *Core) { a.core.Store(core) }

// Core returns what the API answers from, nil before Open.
func (a *API) Core() *Core { return a.core.Load() }

// Host returns the host of the sessions, nil before Open.
func (a *API) Host() *host.Host {
	if core := a.Core(); core != nil {
		return core.Host
	}
	return nil
}

// Loaded returns a session that is loaded, or nil.
func (a *API) Loaded(id string) *host.Session {
	if h := a.Host(); h != nil {
		return h.Loaded(id)
	}
	return nil
}

// get returns a session, loading it where it is only stored.
func (a *API) get(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		return nil, Invalid("sessionId", "is missing")
	}
	return a.Host().Get(ctx, id)
}

// writable returns a session that this daemon may write (wire code 1009 where another one does).
func (a *API) writable(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		return nil, Invalid("sessionId", "is missing")
	}
	return a.Host().Writable(ctx, id)
}

// fresh returns a session as it is stored, also where another daemon has written it.
func (a *API) fresh(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		return nil, Invalid("sessionId", "is missing")
	}
	return a.Host().Fresh(ctx, id)
}

// create makes a session and makes it current.
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

// SetCurrent makes a session the one that is meant where none is named.
func (a *API) SetCurrent(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current = id
}

// forget makes a session that ends not the current one.
func (a *API) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current == id {
		a.current = ""
	}
}

// Current returns the id of the session that is meant if none is named, "" for none.
func (a *API) Current() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current
}

// orCurrent returns the session that is to be written: the named one, else the current one, else
// a new one.
func (a *API) orCurrent(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		id = a.Current()
	}
	if id != "" {
		return a.writable(ctx, id)
	}
	return a.create(ctx, &wire.SessionNewParams{})
}

// holdFor keeps a session's notifications back until the request of ctx is answered: an answer
// precedes every notification that the request causes.
func (a *API) holdFor(ctx context.Context, id string) { a.Host().HoldFor(ctx, id) }

// noticeIn shows the user a line in a session.
func (a *API) noticeIn(sessionID, level, text string) {
	if l := a.Loaded(sessionID); l != nil {
		l.Engine.Notice(level, text)
	}
}
