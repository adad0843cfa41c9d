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
	// modelsPause delays the request for the provider's models, so that a prompt that arrives right
	// after its session was created is sent first.
	modelsPause = 50 * time.Millisecond
	// modelsFresh is how long the list of models is reused for other sessions.
	modelsFresh = time.Minute
)

// listing is the list of a provider's models. All sessions that start at about the same time share
// one request. The models may be read once done is closed.
type listing struct {
	provider string // the provider's encoded settings
	until    time.Time
	done     chan struct{}
	models   []string
}

// offered returns the listing for a session with this configuration. If there is no listing, it
// starts a request.
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

// list asks the provider for its models. If the provider does not answer, the next session asks
// again.
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

// known returns the models if the provider has already answered. It does not wait.
func (l *listing) known() []string {
	select {
	case <-l.done:
		return l.models
	default:
		return nil
	}
}

// learnModels offers the provider's models in the session once they are known.
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

// offer sets the models to choose from unless models is nil. The caller must hold mu.
func (s *session) offer(models []string) {
	if models != nil {
		s.models = models
	}
}
