package agent

import (
	"context"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// board lets callers wait for turns. It records which turn each message went to and how each turn
// ended. The sink receives the end of a turn before board does. The board's lock is acquired after
// all other locks.
type board struct {
	mu      sync.Mutex
	closed  bool
	live    map[string]bool // turns that have started and whose end has not been reported
	running string          // the turn in live that started last
	last    string
	ended   map[string]Turn
	order   []string          // ended turns, oldest first
	turnOf  map[string]string // message ID to turn ID; "" while the message is queued
	changed chan struct{}     // closed and replaced on each change
}

func newBoard() *board {
	return &board{live: map[string]bool{}, ended: map[string]Turn{}, turnOf: map[string]string{},
		changed: make(chan struct{})}
}

func (b *board) restore(turns []Turn, msgs []*message.Message) {
	for _, t := range turns {
		b.addEnded(t)
	}
	for _, m := range msgs {
		if m.Role == message.RoleUser {
			b.turnOf[m.ID] = m.TurnID
		}
	}
}

func (b *board) update(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *board) addEnded(t Turn) {
	b.ended[t.TurnID] = t
	b.last = t.TurnID
	if b.order = append(b.order, t.TurnID); len(b.order) > maxRemembered {
		delete(b.ended, b.order[0])
		b.order = b.order[1:]
	}
}

func (b *board) started(turnID string) {
	b.update(func() { b.live[turnID], b.running = true, turnID })
}

func (b *board) queued(messageID string) {
	b.update(func() {
		if _, ok := b.turnOf[messageID]; !ok {
			b.turnOf[messageID] = ""
		}
	})
}
func (b *board) delivered(messageID, turnID string) {
	b.update(func() { b.turnOf[messageID] = turnID })
}

// undelivered marks a delivered message as queued again, because its turn ended without processing
// the message.
func (b *board) undelivered(messageID string) { b.delivered(messageID, "") }

func (b *board) removed(messageID string) { b.update(func() { delete(b.turnOf, messageID) }) }
func (b *board) close()                   { b.update(func() { b.closed = true }) }

func (b *board) end(t Turn) {
	b.update(func() {
		b.addEnded(t)
		delete(b.live, t.TurnID)
		if b.running == t.TurnID {
			b.running = ""
		}
	})
}

// wait returns the turn once it has ended. Without IDs, wait waits for the running turn, or returns
// the last one if none is running. The turn of a message is looked up on each change, because a
// steer that its turn did not process moves to another turn.
func (b *board) wait(ctx context.Context, turnID, messageID string) (Turn, error) {
	for {
		t, id, changed, err := b.look(turnID, messageID)
		if err != nil || t.Status != "" {
			return t, err
		}
		if messageID == "" {
			turnID = id
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Turn{TurnID: id, Status: TurnStatusRunning}, context.Cause(ctx)
		}
	}
}

// look finds the requested turn. It returns the turn if it has ended. Otherwise, it returns the
// turn's ID, or "" while the message is queued.
func (b *board) look(turnID, messageID string) (t Turn, id string, changed chan struct{},
	err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id = turnID
	if id == "" && messageID != "" {
		of, ok := b.turnOf[messageID]
		if !ok {
			return t, "", nil, ErrNotFound
		}
		id = of
	} else if id == "" {
		if id = b.running; id == "" {
			id = b.last
		}
	}
	if t, ok := b.ended[id]; ok {
		return t, id, nil, nil
	}
	switch {
	case b.live[id]:
		return t, id, b.changed, nil
	case id != "" || messageID == "":
		return t, id, nil, ErrNotFound
	case b.closed:
		return t, id, nil, ErrClosed
	}
	return t, id, b.changed, nil // the message is still queued
}

func (b *board) hasEnded(turnID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.ended[turnID]
	return ok || b.live[turnID]
}
