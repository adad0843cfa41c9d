package catalog

import (
	"charm.land/catwalk/pkg/catwalk"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Price contains the prices of a model in US dollars per million tokens. If CacheRead or CacheWrite
// is zero, Input applies instead. The zero Price means that the price is unknown.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead,omitempty"`
	CacheWrite float64 `json:"cacheWrite,omitempty"`
}

// priceOf reads a price. The data has two fields for the price of cached input. For Anthropic's and
// OpenAI's newest models, the first field is the write price and the second the read price. Lists
// of other providers may swap them, have the read price in the first field or in both, or have the
// price of output or storage in the second. A comparison with the price of plain input shows which
// price a field contains. No provider charges more than half of the input price for reads.
// Providers that charge for writes charge more than the input price, but at most twice as much. A
// number outside both ranges is ignored.
func priceOf(m *catwalk.Model) Price {
	p := Price{Input: m.CostPer1MIn, Output: m.CostPer1MOut}
	if p.Input < 0 || p.Output < 0 || p.Input == 0 {
		return Price{} // free and subscription models have zeros, which do not show the real cost
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

// Costs returns the costs of a call in US dollars.
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

// Split divides a cost that the provider reported into its parts, in proportion to the prices or,
// if the price is unknown, to the tokens.
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
