package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// wait is a call's wait for the user. A steer ends the wait.
type wait struct{ cancel context.CancelCauseFunc }

// beginWait makes the next steer end w. If a steer is already waiting, w ends immediately.
func (s *Session) beginWait(t *turn, w *wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != t {
		w.cancel(context.Canceled)
		return
	}
	before := s.statusLocked()
	t.waits[w] = struct{}{}
	if len(s.inbox.steers) > 0 {
		w.cancel(&tool.SteerError{Text: s.inbox.steers[0].msg.TextContent()})
	}
	s.shownLocked(before)
}

func (s *Session) endWait(t *turn, w *wait) {
	w.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := t.waits[w]; !ok {
		return
	}
	before := s.statusLocked()
	delete(t.waits, w)
	s.shownLocked(before)
}

// shownLocked notifies clients if the status that they see has changed.
func (s *Session) shownLocked(before Status) {
	if s.statusLocked() != before {
		s.changedLocked()
	}
}

// planItem is a turn's task list, shown as one item.
type planItem struct {
	mu     sync.Mutex
	item   Item
	closed bool
}

func (p *planItem) set(s *Session, turnID string, plan []tool.PlanEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	first := p.item.ID == ""
	if first {
		p.item = Item{ID: s.opts.NewID("item_"), Type: ItemPlan, CreatedAt: time.Now()}
	}
	p.item.Plan = slices.Clone(plan)
	if first {
		s.em.emit(ItemStarted{TurnID: turnID, Item: p.item})
		return
	}
	s.em.emit(ItemUpdated{TurnID: turnID, Item: p.item})
}

// close completes the item. The caller must hold the session's lock.
func (p *planItem) close(s *Session, turnID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.item.ID != "" {
		s.em.emit(ItemCompleted{TurnID: turnID, Item: p.item})
	}
}
