package agent

import (
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// view is the part of the history that the model sees. It is the whole history, or the replacement
// from a compaction and the messages after it. The view grows with the history. Only a commit
// changes its beginning. The session's lock guards it.
type view struct {
	msgs   []*message.Message
	paired int // number of leading messages that were found paired
	meter  history.Meter
	window int
	// learned maps model IDs to the windows learned from providers' refusals.
	learned map[string]int
}

// learn lowers the window of a model.
func (v *view) learn(m Model, window int) {
	if v.learned == nil {
		v.learned = map[string]int{}
	}
	id := m.Info().ID
	if old := v.learned[id]; old == 0 || window < old {
		v.learned[id] = window
	}
}

// budget returns the context budget for m. The model's window may be smaller than m claims, if a
// provider has refused a request as too long.
func (v *view) budget(c ContextConfig,
	m Model) budget {
	return c.budget(m, v.learned[m.Info().ID])
}

func (v *view) append(m *message.Message) {
	v.msgs = append(v.msgs, m)
	v.meter.Add(m)
}

// restore rebuilds the view of a stored history.
func (v *view) restore(all []*message.Message, commits []*Commit) {
	v.msgs = slices.Clone(all)
	newer := len(all)
	for _, c := range commits {
		newer = v.replace(all, c)
	}
	v.meter.Reset(v.msgs)
	v.restoreCount(len(v.msgs) - newer)
}

// restoreCount gives the meter the provider's token count for the newest reply that has one. Counts
// of replies before the given index are ignored, because a reduction has since replaced the history
// that they refer to.
func (v *view) restoreCount(from int) {
	for i := len(v.msgs) - 1; i >= from; i-- {
		m := v.msgs[i]
		if m.Role == message.RoleAssistant && m.Usage != nil && m.Usage.Input > 0 {
			v.meter.Restored(m.Usage.Input, m.Usage.Output, history.Total(v.msgs[:i]),
				history.Tokens(m))
			return
		}
	}
}

// replace makes a commit's replacement the beginning of the view. It returns the number of messages
// in the view that follow the replacement. Messages that have only an ID are looked up in the log.
func (v *view) replace(all []*message.Message, c *Commit) (newer int) {
	i := slices.IndexFunc(all, func(m *message.Message) bool { return m.ID == c.Through })
	if i < 0 {
		return 0
	}
	logged := make(map[string]*message.Message, i+1)
	for _, m := range all[:i+1] {
		logged[m.ID] = m
	}
	msgs := make([]*message.Message, 0, len(c.Replacement)+len(all)-i-1)
	for _, m := range c.Replacement {
		if m.Role == "" {
			m = logged[m.ID]
		}
		if m != nil {
			msgs = append(msgs, m)
		}
	}
	v.msgs, v.paired = append(msgs, all[i+1:]...), 0
	return len(all) - i - 1
}

// sendable returns the view, clipped so that appending to it copies it. Unpaired messages would be
// a bug. They are repaired and reported.
func (v *view) sendable() (msgs []*message.Message, repaired bool) {
	n, open := history.PairedPrefix(v.msgs[v.paired:])
	if v.paired+n < len(v.msgs) || open {
		v.msgs, v.paired, repaired = slices.Clone(history.Pair(v.msgs, nil)), 0, true
	}
	v.paired = len(v.msgs)
	return slices.Clip(v.msgs), repaired
}

// forTheModel converts the history to messages for the model. It omits app-level messages and
// assistant messages without content. It joins consecutive assistant messages, such as a reply and
// its continuation, because strict providers require alternating roles. Strict providers also
// require a user message at the beginning. If the session began with a one-shot steer, there is
// none, because such a steer is never stored. In that case, forTheModel adds one.
func forTheModel(msgs []*message.Message) []*message.Message {
	msgs = joined(msgs)
	if len(msgs) > 0 && msgs[0].Role == message.RoleAssistant {
		first := message.NewText(message.RoleUser, unstoredText)
		return append([]*message.Message{first}, msgs...)
	}
	return msgs
}

// joined returns the messages that are for the model, with consecutive assistant messages joined.
func joined(msgs []*message.Message) []*message.Message {
	i := 0
	for i < len(msgs) && forModel(msgs[i]) && !continues(msgs, i) {
		i++
	}
	if i == len(msgs) {
		return msgs
	}
	out := slices.Clone(msgs[:i])
	for _, m := range msgs[i:] {
		if !forModel(m) {
			continue
		}
		if out = append(out, m); continues(out, len(out)-1) {
			joined := out[len(out)-2].Clone()
			joined.Content = append(joined.Content, m.Clone().Content...)
			out = append(out[:len(out)-2], joined)
		}
	}
	return out
}

func forModel(m *message.Message) bool {
	return m.App == "" && (len(m.Content) > 0 || m.Role != message.RoleAssistant)
}

// continues reports whether msgs[i] continues the preceding assistant message.
func continues(msgs []*message.Message, i int) bool {
	return i > 0 && msgs[i].Role == message.RoleAssistant &&
		msgs[i-1].Role == message.RoleAssistant && len(msgs[i-1].ToolCalls()) == 0
}
