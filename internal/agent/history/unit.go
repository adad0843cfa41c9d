package history

import (
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// PinnedKey is the key in message.Message.Meta of messages that stay in the model's context. The
// user pins messages that must apply for the whole session.
const PinnedKey = "pinned"

// unit is the smallest part that a reducer keeps or drops: an assistant message with the results of
// its calls, or one other message.
type unit struct {
	from, to int
	user     bool // a visible user message, which begins a turn
	pinned   bool
	keep     bool // must not be dropped; its results may be shortened
	tokens   int
}

// units splits msgs into units. It marks the units that must always be kept: pinned messages,
// system messages, the last visible user message, and the last unit.
func (in *Input) units(msgs []*message.Message) []unit {
	var us []unit
	for i := 0; i < len(msgs); {
		u := unit{from: i, to: i + 1, user: isPrompt(msgs[i]), pinned: in.pinned(msgs[i]),
			tokens: Tokens(msgs[i])}
		for u.to < len(msgs) && msgs[u.to].Role == message.RoleTool {
			u.tokens += Tokens(msgs[u.to])
			u.to++
		}
		u.keep = u.pinned
		us = append(us, u)
		i = u.to
	}
	for i, u := range slices.Backward(us) {
		if u.user {
			us[i].keep = true
			break
		}
	}
	if len(us) > 0 {
		us[len(us)-1].keep = true
	}
	return us
}

// isPrompt reports whether m is a visible user message, which begins a turn.
func isPrompt(m *message.Message) bool {
	return m.Role == message.RoleUser && !m.Hidden && m.App == ""
}

func (in *Input) pinned(m *message.Message) bool {
	if on, ok := in.Pins[m.ID]; ok {
		return on
	}
	return BornPinned(m) || m.Role == message.RoleSystem
}

// BornPinned reports whether a message was pinned when it was sent.
func BornPinned(m *message.Message) bool {
	_, ok := m.Meta[PinnedKey]
	return ok
}

// recentFrom returns the index of the first recent unit. The recent units are the last whole units
// that fit into budget tokens, but at least one unit.
func recentFrom(us []unit, budget int) int {
	i := len(us)
	for i > 0 && (i == len(us) || budget >= us[i-1].tokens) {
		i--
		budget -= us[i].tokens
	}
	return i
}

// turnRange is a range of units from a visible user message up to the next one.
type turnRange struct{ from, to int }

func turnsOf(us []unit) []turnRange {
	var ts []turnRange
	for i, u := range us {
		if len(ts) == 0 || u.user {
			ts = append(ts, turnRange{i, i})
		}
		ts[len(ts)-1].to = i + 1
	}
	return ts
}

// rebuild returns the messages of the units for which keep returns true.
func rebuild(msgs []*message.Message, us []unit, keep func(i int) bool) []*message.Message {
	out := make([]*message.Message, 0, len(msgs))
	for i, u := range us {
		if keep(i) {
			out = append(out, msgs[u.from:u.to]...)
		}
	}
	return out
}

// hidden returns a user message that the model receives but that is not shown as the user's
// message.
func (in *Input) hidden(text string) *message.Message {
	if in.Lookup != "" {
		text += "\n" + in.Lookup
	}
	m := message.NewText(message.RoleUser, text)
	m.Source, m.Hidden, m.Author = message.SourceSummary, true, "engine"
	m.ID, m.Time = in.NewID("msg_"), in.Now
	return m
}

// withText returns a copy of m whose text is replaced. The copy contains only text and calls.
func withText(m *message.Message, text string) *message.Message {
	c := m.Clone()
	c.Content = slices.DeleteFunc(c.Content,
		func(b message.Block) bool { return b.Type != message.ToolUse })
	c.Content = append([]message.Block{{Type: message.Text, Text: text}}, c.Content...)
	return c
}
