package agent

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// PinChange lists messages that are pinned or unpinned from this point on. It takes precedence over
// the marks in the messages. A later PinChange takes precedence over an earlier one.
type PinChange struct {
	Pin   []string `json:"pin,omitempty"`
	Unpin []string `json:"unpin,omitempty"`
	// Withheld lists messages that a hook withholds from the model. They can never be pinned.
	Withheld []string `json:"withheld,omitempty"`
}

// pins tracks the messages that no reduction of the context may remove. The session's lock guards
// it.
type pins struct {
	changed  map[string]bool // by message ID, whether the last change pinned the message
	withheld map[string]bool
	list     []string // the pinned messages of the history, oldest first; never changed in place
}

func (p *pins) apply(c PinChange) {
	if p.changed == nil {
		p.changed, p.withheld = map[string]bool{}, map[string]bool{}
	}
	for _, id := range c.Pin {
		p.changed[id] = true
	}
	for _, id := range slices.Concat(c.Unpin, c.Withheld) {
		p.changed[id] = false
	}
	for _, id := range c.Withheld {
		p.withheld[id] = true
	}
}

// has reports whether a message is pinned.
func (p *pins) has(m *message.Message) bool {
	if on, ok := p.changed[m.ID]; ok {
		return on
	}
	return history.BornPinned(m)
}

// add adds a message that became part of the history.
func (p *pins) add(m *message.Message) {
	if p.has(m) {
		p.list = append(slices.Clip(p.list), m.ID)
	}
}

func (p *pins) recount(all []*message.Message) {
	p.list = nil
	for _, m := range all {
		p.add(m)
	}
}

// SetPins pins user messages, or unpins them so that they can be reduced again. A pinned message
// that a reduction has removed returns to the model's view. SetPins returns once the change is
// stored.
func (s *Session) SetPins(pin, unpin []string) error {
	c := PinChange{Pin: pin, Unpin: unpin}
	s.mu.Lock()
	err := s.checkPinsLocked(c)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if s.opts.Store != nil {
		err := s.opts.Store.Append(Record{Type: RecordPin, Pin: &c, Time: time.Now(), Sync: true})
		if err == nil {
			err = s.journal.sync()
		}
		if err != nil {
			return fmt.Errorf("storing the pins: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conv.pins.apply(c)
	s.conv.pins.recount(s.conv.messages)
	s.showPinnedLocked()
	s.changedLocked()
	return nil
}

func (s *Session) checkPinsLocked(c PinChange) error {
	if s.state.closed() {
		return ErrClosed
	}
	mine := make(map[string]bool, len(s.conv.messages))
	for _, m := range s.conv.messages {
		mine[m.ID] = m.Role == message.RoleUser && !m.Hidden && m.App == ""
	}
	for _, id := range slices.Concat(c.Pin, c.Unpin) {
		if !mine[id] {
			return fmt.Errorf("item %q: %w", id, ErrNotPinnable)
		}
	}
	for _, id := range c.Pin {
		if slices.Contains(c.Unpin, id) {
			return fmt.Errorf("item %q is in both pin and unpin: %w", id, ErrNotPinnable)
		}
		if s.conv.pins.withheld[id] {
			return fmt.Errorf("a hook withheld item %q from the model: %w", id, ErrNotPinnable)
		}
	}
	return nil
}

// restorePins applies the stored changes.
func (s *Session) restorePins(changes []PinChange) {
	for _, c := range changes {
		s.conv.pins.apply(c)
	}
	s.conv.pins.recount(s.conv.messages)
	s.showPinnedLocked()
}

// withholdPinLocked ensures that a message which a hook withholds from the model is never pinned.
func (s *Session) withholdPinLocked(m *message.Message) {
	c := PinChange{Withheld: []string{m.ID}}
	s.journal.add(Record{Type: RecordPin, Pin: &c})
	s.conv.pins.apply(c)
	s.conv.pins.recount(s.conv.messages)
}

// showPinnedLocked puts messages back into the view if they were pinned after a reduction had
// removed them. A commit is not necessary, because restoring the session does the same.
func (s *Session) showPinnedLocked() {
	if msgs := s.withPinnedLocked(s.conv.view.msgs); !slices.Equal(msgs, s.conv.view.msgs) {
		s.conv.view.msgs, s.conv.view.paired = msgs, 0
		s.conv.view.meter.Reset(msgs)
	}
}

// withPinnedLocked adds every message that the user pinned to the view msgs, complete and in its
// original position, and returns the result. Messages that were sent pinned are never missing.
func (s *Session) withPinnedLocked(msgs []*message.Message) []*message.Message {
	if !slices.Contains(slices.Collect(maps.Values(s.conv.pins.changed)), true) {
		return msgs
	}
	place := make(map[string]int, len(s.conv.messages))
	for i, m := range s.conv.messages {
		place[m.ID] = i
	}
	out := slices.Clone(msgs)
	for i, m := range s.conv.messages {
		if !s.conv.pins.changed[m.ID] || slices.Contains(out, m) {
			continue
		}
		if at := slices.IndexFunc(out,
			func(o *message.Message) bool { return o.ID == m.ID }); at >= 0 {
			out[at] = m // the reduction shortened it, so restore the original
			continue
		}
		at := slices.IndexFunc(
			out,
			func(o *message.Message) bool { p, ok := place[o.ID]; return ok && p > i },
		)
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, m)
	}
	return out
}
