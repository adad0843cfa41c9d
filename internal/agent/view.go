package agent

import (
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// view is what the model sees of the history: the whole of it, or a compaction's
// replacement and what came after. It grows with the history; only a commit changes its
// beginning. Guarded by the session's lock.
type view struct {
	msgs   []*message.Message
	paired int // leading messages that were found paired
	meter  history.Meter
	window int
	// learned are the windows, by the models' ids, that providers' refusals taught.
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

// budget makes the numbers of a model's window.
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
	for _, c := range commits {
		v.replace(all, c)
	}
	v.meter.Reset(v.msgs)
}

// replace makes a commit's replacement the beginning of the view. Messages of which only
// the id is there stand for those of the log.
func (v *view) replace(all []*message.Message, c *Commit) {
	i := slices.IndexFunc(all, func(m *message.Message) bool { return m.ID == c.Through })
	if i < 0 {
		return
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
}

// sendable returns the view, clipped, so that appending to it copies. What is not paired,
// which would be a defect, is mended and reported.
func (v *view) sendable() (msgs []*message.Message, mended bool) {
	n, open := history.PairedPrefix(v.msgs[v.paired:])
	if v.paired+n < len(v.msgs) || open {
		v.msgs, v.paired, mended = slices.Clone(history.Pair(v.msgs, nil)), 0, true
	}
	v.paired = len(v.msgs)
	return slices.Clip(v.msgs), mended
}

// forTheModel makes model messages of the history's: app-level messages and assistant messages
// without content stay out, and neighbouring assistant messages, such as an answer and its
// continuation, become one, since strict providers want the roles to alternate there.
func forTheModel(msgs []*message.Message) []*message.Message {
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

// continues reports whether msgs[i] goes on where the assistant message before it ended.
func continues(msgs []*message.Message, i int) bool {
	return i > 0 && msgs[i].Role == message.RoleAssistant &&
		msgs[i-1].Role == message.RoleAssistant && len(msgs[i-1].ToolCalls()) == 0
}
