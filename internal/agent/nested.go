package agent

import (
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// spent adds a sub-agent's usage to the turn and the session. If the turn has already ended,
// because the sub-agent ran in the background, the usage is added to the next turn that ends.
func (c *callRun) spent(u message.Usage) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.turn == c.t {
		c.t.sum.Usage = c.t.sum.Usage.Add(u)
	} else {
		c.s.unbilled = c.s.unbilled.Add(u)
	}
	c.s.usage = c.s.usage.Add(u)
	c.s.changedLocked()
}
