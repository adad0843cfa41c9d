package modelhttp

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// Known returns the catalog's entry for a model of the endpoint.
func (c *Client) Known(id string) catalog.Model {
	o := &c.Options
	return catalog.Endpoint{Provider: o.Catalog, Host: c.Host, Local: o.Unpriced}.Lookup(id)
}

// Info returns the capabilities of a model of the endpoint, from the options or else from the
// catalog.
func (c *Client) Info(id string) agent.ModelInfo {
	o, known := &c.Options, c.Known(id)
	i := agent.ModelInfo{
		ID: id, Provider: o.Provider, ContextWindow: known.Window,
		Vision: known.HasVision(), Thinking: known.Levels,
	}
	if i.Provider == "" {
		i.Provider = c.Host
	}
	if o.ContextWindow > 0 {
		i.ContextWindow = o.ContextWindow
	}
	if o.Vision != nil {
		i.Vision = o.Vision
	}
	if o.Tools != nil {
		i.Tools = o.Tools
	}
	return i
}

// Report contains the information about a model from an endpoint's list. A zero value means that
// the list does not contain the value.
type Report struct {
	Name          string
	Window        []jsontext.Value // of these values, the first positive number is used
	Output        jsontext.Value
	Vision, Tools *bool
}

// Reported adds the information in r to i, except for values that the options set.
func (c *Client) Reported(i agent.ModelInfo, r *Report) agent.ModelInfo {
	o := &c.Options
	i.Name = r.Name
	for _, v := range r.Window {
		if n, ok := Integer(v); ok && n > 0 && o.ContextWindow == 0 {
			i.ContextWindow, i.Reported = n, true
			break
		}
	}
	if n, ok := Integer(r.Output); ok && n > 0 {
		i.MaxOutput = n
	}
	if r.Vision != nil && o.Vision == nil {
		i.Vision = r.Vision
	}
	if r.Tools != nil && o.Tools == nil {
		i.Tools = r.Tools
	}
	return i
}

// addCost estimates the cost of the call unless the provider reported it, and divides it into its
// parts.
func (c *Client) addCost(model string, u *message.Usage) {
	p, ok := c.Options.Prices[model]
	if !ok && !c.Options.Unpriced {
		p = c.Known(model).Price
	}
	switch {
	case u.Cost > 0:
		u.Costs = p.Split(u.Cost, *u)
	case p != catalog.Price{}:
		u.Costs, u.CostEstimated = p.Costs(*u), true
		u.Cost = u.Costs.Total()
	}
}

// WithOff adds "off" as the first thinking level if it is missing. It returns an empty list
// unchanged.
func WithOff(levels []string) []string {
	if len(levels) == 0 || slices.Contains(levels, "off") {
		return levels
	}
	return append([]string{"off"}, levels...)
}
