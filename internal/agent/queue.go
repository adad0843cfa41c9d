package agent

import (
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Queue returns the waiting messages, steers first.
func (s *Session) Queue() []QueueEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queueLocked()
}

func (s *Session) queueLocked() []QueueEntry {
	out := make([]QueueEntry, 0, len(s.inbox.steers)+len(s.inbox.queue))
	for _, e := range s.inbox.steers {
		out = append(out, e.export())
	}
	for _, e := range s.inbox.queue {
		out = append(out, e.export())
	}
	return out
}

func (e *entry) export() QueueEntry {
	return QueueEntry{
		MessageID: e.msg.ID, Delivery: e.delivery, Content: e.msg.Content, Source: e.msg.Source,
		Hidden: e.msg.Hidden, Wake: e.wake, Held: e.held, Author: e.msg.Author, Meta: e.msg.Meta,
	}
}

// SetQueueLimit changes the maximum number of waiting messages. 0 means DefaultQueueLimit.
func (s *Session) SetQueueLimit(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inbox.limit = n
}

func (s *Session) queueLimitLocked() int {
	if s.inbox.limit > 0 {
		return s.inbox.limit
	}
	return DefaultQueueLimit
}

// Unqueue removes a waiting message. ErrNotFound reports that it was delivered or never queued.
func (s *Session) Unqueue(messageID string) ([]QueueEntry, error) {
	s.mu.Lock()
	ok := s.dropLocked(messageID)
	q := s.queueLocked()
	s.mu.Unlock()
	if !ok {
		return nil, ErrNotFound
	}
	return q, s.journal.sync()
}

// ClearQueue removes every waiting steer and prompt, but no notes.
func (s *Session) ClearQueue() error {
	s.mu.Lock()
	for _, e := range slices.Concat(s.inbox.steers, s.inbox.queue) {
		s.board.removed(e.msg.ID)
	}
	if len(s.inbox.steers)+len(s.inbox.queue) > 0 {
		s.inbox.steers, s.inbox.queue = nil, nil
		s.queueChangedLocked()
	}
	s.mu.Unlock()
	return s.journal.sync()
}

func (s *Session) dropLocked(messageID string) bool {
	n := len(s.inbox.steers) + len(s.inbox.queue)
	byID := func(e *entry) bool { return e.msg.ID == messageID }
	s.inbox.steers = slices.DeleteFunc(s.inbox.steers, byID)
	s.inbox.queue = slices.DeleteFunc(s.inbox.queue, byID)
	if len(s.inbox.steers)+len(s.inbox.queue) == n {
		return false
	}
	s.board.removed(messageID)
	s.queueChangedLocked()
	return true
}

// takeBack removes an entry that could not be stored, if it is still waiting.
func (s *Session) takeBack(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, acc := range s.inbox.clients {
		if acc.MessageID == e.msg.ID {
			delete(s.inbox.clients, id)
		}
	}
	return s.dropLocked(e.msg.ID)
}

func (s *Session) enqueueLocked(e *entry) {
	s.inbox.queue = append(s.inbox.queue, e)
	s.board.queued(e.msg.ID)
	s.queueChangedLocked()
}

func (s *Session) queueChangedLocked() {
	s.recordQueueLocked()
	s.changedLocked()
}

// recordQueueLocked stores the whole current queue, including steers and notes, so that a restart
// does not lose them.
func (s *Session) recordQueueLocked() {
	if s.opts.Store == nil {
		return
	}
	q := s.queueLocked()
	for _, e := range s.inbox.notes {
		q = append(q, e.export())
	}
	s.journal.add(Record{Type: RecordQueue, Queue: q, Sync: true})
}

// takeLocked takes the first entry of a queue, or all of them. Before the caller releases the lock,
// it must commit the messages and then record the queue. If the process crashes between the two, a
// message is in both the history and the stored queue, and restore removes it from the queue. In
// the reverse order, it would be lost.
func (s *Session) takeLocked(q *[]*entry, mode QueueMode) []*entry {
	n := len(*q)
	if mode == QueueOneAtATime && n > 1 {
		n = 1
	}
	taken := (*q)[:n:n]
	*q = slices.Clone((*q)[n:])
	return taken
}

// deliverLocked adds waiting messages and their items to the history of the running turn.
func (s *Session) deliverLocked(entries []*entry) {
	if len(entries) == 0 {
		return
	}
	for _, e := range entries {
		s.commitUserLocked(e.msg)
	}
	s.recordQueueLocked()
	s.changedLocked()
}

// commitUserLocked adds m to the history of the running turn and shows it unless it is hidden.
func (s *Session) commitUserLocked(m *message.Message) {
	m.TurnID = s.turn.id
	s.stamp(m)
	s.commitLocked(m, m.Source != message.SourceNudge)
	s.board.delivered(m.ID, m.TurnID)
	if m.Hidden || m.App != "" || m.Role != message.RoleUser {
		return
	}
	s.turn.fresh = append(s.turn.fresh, m)
	it := Item{
		ID: m.ID, Type: ItemUser, CreatedAt: m.Time, Text: m.ShownText(), Source: m.Source,
		Content: slices.DeleteFunc(
			slices.Clone(m.Content),
			func(b message.Block) bool { return b.Type == message.Text },
		),
		MessageID: m.ID, Pinned: s.conv.pins.has(m),
	}
	s.em.emit(ItemStarted{TurnID: m.TurnID, Item: it})
	s.em.emit(ItemCompleted{TurnID: m.TurnID, Item: it})
}
