package rpc

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// sessions are the host's, as one connection sees them: it has a current one.
type sessions struct {
	s    *server
	host atomic.Pointer[host.Host] // nil before initialize

	mu      sync.Mutex
	current string
}

// loaded returns a session that is loaded, or nil.
func (c *sessions) loaded(id string) *host.Session {
	if h := c.host.Load(); h != nil {
		return h.Loaded(id)
	}
	return nil
}

// get returns a session, loading it where it is only stored.
func (c *sessions) get(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		return nil, invalid("sessionId", "is missing")
	}
	return c.host.Load().Get(ctx, id)
}

// writable returns a session that this daemon may write (wire code 1009 where another one does).
func (c *sessions) writable(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		return nil, invalid("sessionId", "is missing")
	}
	return c.host.Load().Writable(ctx, id)
}

// fresh returns a session as it is stored, also where another daemon has written it.
func (c *sessions) fresh(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		return nil, invalid("sessionId", "is missing")
	}
	return c.host.Load().Fresh(ctx, id)
}

// create makes a session and makes it current.
func (c *sessions) create(ctx context.Context, p *wire.SessionNewParams) (*host.Session, error) {
	cwd, err := c.s.cwd(p.Cwd)
	if err != nil {
		return nil, err
	}
	if _, _, err := c.s.core.Settings.Session(p.Config); err != nil {
		return nil, invalid("config", "%v", err)
	}
	seeds, err := seedMessages(p.Messages)
	if err != nil {
		return nil, err
	}
	l, err := c.host.Load().Create(ctx, host.NewSession{
		Cwd: cwd, Title: p.Title, Config: p.Config, Messages: seeds,
	})
	if err != nil {
		return nil, err
	}
	c.setCurrent(l.ID)
	return l, nil
}

// delete removes a session that is not busy.
func (c *sessions) delete(ctx context.Context, l *host.Session) error {
	c.forget(l.ID)
	return c.host.Load().Delete(ctx, l)
}

// release unloads a session, which stays stored.
func (c *sessions) release(ctx context.Context, id string) error {
	c.forget(id)
	return c.host.Load().Release(ctx, id)
}

// setCurrent makes a session the one that is meant where none is named.
func (c *sessions) setCurrent(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = id
}

// forget makes a session that ends not the current one.
func (c *sessions) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == id {
		c.current = ""
	}
}

func (c *sessions) currentID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// orCurrent returns the session that is to be written: the named one, else the current one, else
// a new one.
func (c *sessions) orCurrent(ctx context.Context, id string) (*host.Session, error) {
	if id == "" {
		id = c.currentID()
	}
	if id != "" {
		return c.writable(ctx, id)
	}
	return c.create(ctx, &wire.SessionNewParams{})
}

// holdFor keeps a session's notifications back until the request of ctx is answered: an answer
// precedes every notification that the request causes.
func (c *sessions) holdFor(ctx context.Context, id string) { c.host.Load().HoldFor(ctx, id) }
