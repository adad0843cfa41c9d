package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// modelTestTimeout is the time limit of the request that tests a model.
const modelTestTimeout = 30 * time.Second

// test sends a one-word request to a model, outside any session. It makes one attempt, whose result
// does not affect the provider's circuit breaker.
func (p *providers) test(ctx context.Context, c *config.Config, ref string) wire.ModelTest {
	ctx, cancel := context.WithTimeout(ctx, modelTestTimeout)
	defer cancel()
	own := c.Choosing(ref)
	r, err := p.refer(ctx, &own, ref)
	if err == nil && r.id == "" {
		err = fmt.Errorf("%q is not a model reference; write NAME/model-id", ref)
	}
	if err == nil {
		err = p.mayPrompt(r.at)
	}
	if err != nil {
		return wire.ModelTest{Error: sentence(err.Error())}
	}
	req := &agent.Request{Messages: []*message.Message{message.NewText(message.RoleUser, "Hello")}}
	start := time.Now()
	_, err = p.model(r.at, c, r.id).Generate(ctx, req, func(agent.Delta) {})
	took := max(int(time.Since(start).Milliseconds()), 1)
	switch {
	case ctx.Err() != nil:
		return wire.ModelTest{LatencyMs: took, Error: fmt.Sprintf(
			"%s did not answer within %d seconds.", ref, took/1000)}
	case err != nil:
		return wire.ModelTest{LatencyMs: took, Error: sentence(err.Error())}
	}
	return wire.ModelTest{OK: true, LatencyMs: took}
}

// sentence adds a period to text that does not end in a punctuation mark.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}
