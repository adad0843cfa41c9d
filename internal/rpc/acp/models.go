package acp

import (
	"context"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/config"

	"github.com/agent-lsp/agent-lsp/internal/pause"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	// modelsPause is how long the question for the provider's models waits for a prompt that comes
	// with its session.
	modelsPause = 50 * time.Millisecond
	// modelsFresh is how long the answer is good for further sessions.
	modelsFresh = time.Minute
)

// listing is what a provider offers, asked for once for all sessions that come about the same time.
// Its models may be read once done is closed.
type listing struct {
	provider string // whose models, as its settings are encoded
	until    time.Time
	done     chan struct{}
	models   []string
}

// offered returns the listing for a session with that configuration, and asks the provider where
// there is none.
func (c *core) offered(effective *config.Config) *listing {
	provider := string(
		encodeWire([]any{effective.Provider, effective.Providers, effective.DefaultProvider()}),
	)
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.listed
	if l == nil || l.provider != provider || time.Now().After(l.until) {
		l = &listing{
			provider: provider,
			until:    time.Now().Add(modelsFresh),
			done:     make(chan struct{}),
		}
		c.listed = l
		c.a.background(func(ctx context.Context) { c.list(ctx, l) })
	}
	return l
}

// list asks the provider. One that does not answer is asked again by the next session.
func (c *core) list(ctx context.Context, l *listing) {
	defer close(l.done)
	if pause.For(ctx, modelsPause) != nil {
		return
	}
	if res, err := ask(ctx, c, agentapi.Catalog.Models, wire.ModelsParams{}); err == nil {
		for _, m := range res.Models {
			l.models = append(l.models, m.ID)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listed == l {
		c.listed = nil
	}
}

// known are its models if the provider has answered; it does not wait.
func (l *listing) known() []string {
	select {
	case <-l.done:
		return l.models
	default:
		return nil
	}
}

// learnModels makes the provider's models choices of the session once they are known.
func (s *session) learnModels(ctx context.Context) {
	s.mu.Lock()
	l := s.core.offered(&s.config)
	s.mu.Unlock()
	select {
	case <-l.done:
	case <-ctx.Done():
		return
	}
	s.mu.Lock()
	s.offer(l.models)
	s.mu.Unlock()
	s.tellOptions()
}

// offer makes models the ones to choose from, unless they are not known. The caller holds mu.
func (s *session) offer(models []string) {
	if models != nil {
		s.models = models
	}
}
