package agent

import (
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// nested passes a sub-agent's item on as one of this turn, below this call. What comes after the
// call's result is dropped: nothing of a turn may follow its end.
func (c *callRun) nested(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.result != nil || !c.shown {
		return
	}
	switch e := e.(type) {
	case ItemStarted:
		it := c.below(e.Item)
		c.children = append(c.children, it)
		c.s.em.emit(ItemStarted{TurnID: c.t.id, Item: it})
	case ItemUpdated:
		c.s.em.emit(ItemUpdated{TurnID: c.t.id, Item: c.below(e.Item)})
	case ItemCompleted:
		c.children = slices.DeleteFunc(c.children, func(it Item) bool { return it.ID == e.Item.ID })
		c.s.em.emit(ItemCompleted{TurnID: c.t.id, Item: c.below(e.Item)})
	case ItemDelta:
		e.TurnID = c.t.id
		c.childDelta(e)
		c.s.em.emit(e)
	}
}

// childDelta keeps the text of an open item below this call, for closeChildren.
func (c *callRun) childDelta(e ItemDelta) {
	for i := range c.children {
		if c.children[i].ID == e.ItemID && (e.Kind == DeltaText || e.Kind == DeltaReasoning) {
			c.children[i].Text += e.Text
		}
	}
}

// closeChildren completes the items that a sub-agent left open when its call was over.
// The caller holds mu.
func (c *callRun) closeChildren() {
	for _, it := range c.children {
		it = copyItem(it)
		if it.Status = StatusAborted; it.Type == ItemToolCall {
			it.Status = StatusCancelled
		}
		c.s.em.emit(ItemCompleted{TurnID: c.t.id, Item: it})
	}
	c.children = nil
}

// below puts an item under this call; one that already lies under a call of the sub-agent stays there.
func (c *callRun) below(it Item) Item {
	if it.ParentID == "" {
		it.ParentID = c.item.ID
	}
	it.MessageID = "" // it shows a message of the sub-agent's history, not of this one
	return it
}

// spent adds a sub-agent's usage to the turn and the session.
func (c *callRun) spent(u message.Usage) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.turn == c.t { // else the turn has ended and its summary is out
		c.t.sum.Usage = c.t.sum.Usage.Add(u)
	}
	c.s.usage = c.s.usage.Add(u)
	c.s.changedLocked()
}
