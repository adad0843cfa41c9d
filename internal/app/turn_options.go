package app

import (
	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/config"
)

// withOptions returns the settings with the options of a turn applied.
func withOptions(c config.Config, o *agent.TurnOptions) config.Config {
	if o == nil {
		return c
	}
	if o.Model != "" {
		c = c.WithModel(o.Model).Choosing(o.Model)
	}
	c.Thinking = firstOf(o.Thinking, c.Thinking)
	c.Sampling = withSampling(c.Sampling, o)
	return c
}

// withSampling returns a copy of the sampling parameters with the turn's parameters applied, so
// that the settings do not change.
func withSampling(s *config.Sampling, o *agent.TurnOptions) *config.Sampling {
	var out config.Sampling
	if s != nil {
		out = *s
	}
	if o.MaxTokens > 0 {
		out.MaxTokens = o.MaxTokens
	}
	if o.Temperature != nil {
		out.Temperature = o.Temperature
	}
	if o.TopP > 0 {
		out.TopP = o.TopP
	}
	return &out
}

// setOptions stores the options of the turn. The sub-agents that the turn calls use them.
func (p *sessionParts) setOptions(o *agent.TurnOptions) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.options = o
}

// turnOptions returns the options of the running turn.
func (p *sessionParts) turnOptions() *agent.TurnOptions {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.options
}
