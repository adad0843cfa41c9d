package catalog

import (
	"math"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// The parts of a cost add up to the total, whether the cost is estimated or reported by the
// provider, and however much is known about the prices.
func TestCostsAddUp(t *testing.T) {
	u := message.Usage{Input: 1e6, Output: 1e5, Cached: 5e5, CacheWrite: 2e5}
	price := Price{Input: 1, Output: 10, CacheRead: .1, CacheWrite: 1.25}
	if c := price.Costs(
		u,
	); !near(c.Input, .3) || !near(c.Output, 1) || !near(c.CacheRead, .05) ||
		!near(c.CacheWrite, .25) {
		t.Errorf("costs %+v", c)
	}
	if c := (Price{Input: 1, Output: 10}).Costs(
		u,
	); !near(c.CacheRead, .5) ||
		!near(c.CacheWrite, .2) {
		t.Errorf("without cache prices: %+v", c)
	}
	for _, p := range []Price{price, {}, {Output: 1}} {
		for _, u := range []message.Usage{u, {}, {Input: 5}} {
			if c := p.Split(3.2, u); !near(c.Total(), 3.2) {
				t.Errorf("%+v of %+v: %+v", p, u, c)
			}
		}
	}
	if c := price.Split(3.2, u); !near(c.Output, 2) {
		t.Errorf("split %+v", c)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
