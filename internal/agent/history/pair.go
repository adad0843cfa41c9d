// Package history makes what a model is sent of what was stored: it keeps calls and
// results paired, counts tokens, and reduces a history that does not fit. It never
// changes a message and never touches the stored history; it knows no provider and does
// no input or output. Start at Pair and Fit.
package history

import "github.com/agent-lsp/agent-lsp/internal/agent/message"

// MissingResult is the text of the result that Pair makes up for a call without one.
const MissingResult = "No result was recorded for this call."

// Paired reports whether every tool call of msgs has exactly one result right after it,
// in call order, and no result is without its call.
func Paired(msgs []*message.Message) bool {
	n, open := PairedPrefix(msgs)
	return n == len(msgs) && !open
}

// PairedPrefix returns how many leading messages are paired, and whether the last of
// them is followed by the end of msgs with calls still unanswered: a turn that runs.
func PairedPrefix(msgs []*message.Message) (n int, open bool) {
	for i := 0; i < len(msgs); {
		m := msgs[i]
		if m.Role == message.RoleTool {
			return i, false
		}
		i++
		if m.Role != message.RoleAssistant {
			continue
		}
		for _, c := range m.ToolCalls() {
			if i == len(msgs) {
				return i, true
			}
			if msgs[i].Role != message.RoleTool || msgs[i].CallID != c.ID {
				return i, false
			}
			i++
		}
	}
	return len(msgs), false
}

// Pair returns msgs itself if it is paired, else a new slice that is: results are put
// behind their calls in call order, results without a call are dropped, and missing ones
// are made up by missing (nil: MissingResult).
func Pair(msgs []*message.Message,
	missing func(m *message.Message, c *message.ToolCall) *message.Message) []*message.Message {
	if Paired(msgs) {
		return msgs
	}
	if missing == nil {
		missing = Missing
	}
	out := make([]*message.Message, 0, len(msgs)+4)
	for i, m := range msgs {
		if m.Role == message.RoleTool {
			continue
		}
		out = append(out, m)
		calls := m.ToolCalls()
		if m.Role != message.RoleAssistant || len(calls) == 0 {
			continue
		}
		results := resultsAfter(msgs, i)
		for _, c := range calls {
			r := results[c.ID]
			if r == nil {
				r = missing(m, c)
			}
			delete(results, c.ID)
			out = append(out, r)
		}
	}
	return out
}

// resultsAfter collects the results that belong to the calls of msgs[i]: the first of
// each id before the next message that makes a call of the same id.
func resultsAfter(msgs []*message.Message, i int) map[string]*message.Message {
	want := map[string]bool{}
	for _, c := range msgs[i].ToolCalls() {
		want[c.ID] = true
	}
	found := make(map[string]*message.Message, len(want))
	for _, m := range msgs[i+1:] {
		if m.Role == message.RoleTool && want[m.CallID] {
			found[m.CallID] = m
			delete(want, m.CallID)
		}
		for _, c := range m.ToolCalls() {
			delete(want, c.ID)
		}
		if len(want) == 0 {
			break
		}
	}
	return found
}

// Missing makes up the result of call c of message m.
func Missing(m *message.Message, c *message.ToolCall) *message.Message {
	r := message.NewText(message.RoleTool, MissingResult)
	r.ID, r.CallID, r.Name, r.IsError = m.ID+"/"+c.ID, c.ID, c.Name, true
	r.Time, r.TurnID, r.Author = m.Time, m.TurnID, "tools"
	return r
}
