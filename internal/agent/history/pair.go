// Package history converts the stored history to the messages that a model receives. It keeps calls
// and results paired, counts tokens, and reduces a history that does not fit. It never changes a
// message or the stored history. It does not depend on a provider and does no I/O. Start at Pair
// and Fit.
package history

import "github.com/agent-lsp/agent-lsp/internal/agent/message"

// MissingResult is the text of the result that Pair adds for a call without a result.
const MissingResult = "No result was recorded for this call."

// Paired reports whether every tool call in msgs is followed immediately by exactly one result, in
// call order, and no result lacks its call.
func Paired(msgs []*message.Message) bool {
	n, open := PairedPrefix(msgs)
	return n == len(msgs) && !open
}

// PairedPrefix returns the number of leading messages that are paired. open reports whether msgs
// ends before each call of its last assistant message has a result, because a turn is running.
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

// Pair returns msgs itself if it is paired. Otherwise, it returns a new slice: results are moved
// behind their calls in call order, and results without a call are dropped. The second argument
// creates the missing results. If it is nil, they have the text MissingResult.
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

// resultsAfter collects the results for the calls of msgs[i]. For each ID, it takes the first
// result before the next message that makes a call with the same ID.
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

// Missing creates the result for call c of message m.
func Missing(m *message.Message, c *message.ToolCall) *message.Message {
	r := message.NewText(message.RoleTool, MissingResult)
	r.ID, r.CallID, r.Name, r.IsError = m.ID+"/"+c.ID, c.ID, c.Name, true
	r.Time, r.TurnID, r.Author = m.Time, m.TurnID, "tools"
	return r
}
