package catalog

import (
	"charm.land/catwalk/pkg/catwalk"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Price is what a model costs, in US dollars per million tokens. A zero CacheRead or
// CacheWrite means the price of other input. The zero Price is unknown.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead,omitempty"`
	CacheWrite float64 `json:"cacheWrite,omitempty"`
}

// priceOf reads a price. The data has two prices of cached input. Of Anthropic's and of OpenAI's
// newest models the first one is that of writes and the second one that of reads, but the lists of
// other providers have them the other way round, or a read price in the first or in both, or the
// price of output or of storage in the second. The price of other input distinguishes them:
// no provider sells reads for more than half of it, and those that charge for writes take more,
// but not more than twice as much. A figure that is neither is not used.
func priceOf(m *catwalk.Model) Price {
	p := Price{Input: m.CostPer1MIn, Output: m.CostPer1MOut}
	if p.Input < 0 || p.Output < 0 || p.Input == 0 {
		return Price{} // free and subscribed models have zeros; what they cost is not known
	}
	const rounding = 1e-9
	for _, v := range []float64{m.CostPer1MOutCached, m.CostPer1MInCached} {
		if p.CacheRead == 0 && v > 0 && v <= p.Input/2+rounding {
			p.CacheRead = v
		}
	}
	for _, v := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
		if p.CacheWrite == 0 && v > p.Input && v <= 2*p.Input+rounding {
			p.CacheWrite = v
		}
	}
	return p
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
