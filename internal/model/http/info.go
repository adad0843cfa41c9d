package modelhttp

import (
	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// Info says what a model of the endpoint can do: what the options say, else the table.
func (c *Client) Info(id string) agent.ModelInfo {
	o, known := &c.Options, catalog.Lookup(id)
	i := agent.ModelInfo{
		ID: id, Provider: o.Provider, ContextWindow: known.Window, MaxOutput: known.MaxOutput,
		Vision: known.HasVision(), Tools: known.HasTools(),
	}
	if i.Provider == "" {
		i.Provider = c.Host
	}
	if o.ContextWindow > 0 {
		i.ContextWindow = o.ContextWindow
	}
	if o.MaxOutput > 0 {
		i.MaxOutput = o.MaxOutput
	}
	if o.Vision != nil {
		i.Vision = o.Vision
	}
	if o.Tools != nil {
		i.Tools = o.Tools
	}
	return i
}

// addCost estimates what the call cost unless the provider said it, and divides it into its parts.
func (c *Client) addCost(model string, u *message.Usage) {
	p, ok := c.Options.Prices[model]
	if !ok && !c.Options.Unpriced {
		p = catalog.Lookup(model).Price
	}
	switch {
	case u.Cost > 0:
		u.Costs = p.Split(u.Cost, *u)
	case p != catalog.Price{}:
		u.Costs, u.CostEstimated = p.Costs(*u), true
		u.Cost = u.Costs.Total()
	}
}
