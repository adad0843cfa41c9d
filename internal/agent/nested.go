package agent

import (
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// spent adds a sub-agent's usage to the turn and the session.
func (c *callRun) spent(u message.Usage) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.turn == c.t { // otherwise the turn has ended and its summary was already reported
		c.t.sum.Usage = c.t.sum.Usage.Add(u)
	}
	c.s.usage = c.s.usage.Add(u)
	c.s.changedLocked()
}
