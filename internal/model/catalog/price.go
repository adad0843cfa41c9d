package catalog

import "github.com/agent-lsp/agent-lsp/internal/agent/message"

// Price is what a model costs, in US dollars per million tokens. A zero CacheRead or
// CacheWrite means the price of other input.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead,omitempty"`
	CacheWrite float64 `json:"cacheWrite,omitempty"`
}

// Costs returns what a call costs, in US dollars.
func (p Price) Costs(u message.Usage) message.Costs {
	read, write := p.CacheRead, p.CacheWrite
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	fresh := max(u.Input-u.Cached-u.CacheWrite, 0)
	return message.Costs{
		Input: float64(fresh) * p.Input / 1e6, Output: float64(u.Output) * p.Output / 1e6,
		CacheRead: float64(u.Cached) * read / 1e6, CacheWrite: float64(u.CacheWrite) * write / 1e6,
	}
}

// Split divides a cost that the provider named into its parts, in the proportions of the price; of
// an unknown price in those of the tokens.
func (p Price) Split(cost float64, u message.Usage) message.Costs {
	if p == (Price{}) {
		p = Price{Input: 1, Output: 1}
	}
	c := p.Costs(u)
	total := c.Total()
	if total == 0 {
		return message.Costs{Input: cost}
	}
	f := cost / total
	return message.Costs{
		Input:      c.Input * f,
		Output:     c.Output * f,
		CacheRead:  c.CacheRead * f,
		CacheWrite: c.CacheWrite * f,
	}
}
