package session

import (
	"bytes"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// showLost creates items for messages without items, so that a replay shows the whole history.
// These are the unstored items of a turn that a crash interrupted, and all items of a session that
// was imported as messages only.
func (r *reader) showLost(history []*message.Message, data []byte) {
	every, open := len(r.log.items) == 0, r.log.entry.OpenTurn
	if !every && open == "" {
		return
	}
	shown, results := r.shownIn(open, data), resultsOf(history)
	for _, m := range history {
		if m.Hidden || !every && (m.TurnID == "" || m.TurnID != open) {
			continue
		}
		for _, it := range itemsOf(m, results) {
			if !shown[itemKey(it)] {
				r.addLost(it, m, results)
			}
		}
	}
}

// shownBy returns items for all messages, numbered from 1.
func shownBy(history []*message.Message) (items []Item) {
	results := resultsOf(history)
	for _, m := range history {
		if m.Hidden {
			continue
		}
		for _, it := range itemsOf(m, results) {
			items = append(items, Item{Seq: uint64(len(items) + 1), TurnID: m.TurnID, Item: it})
		}
	}
	return items
}

// resultsOf returns the results in a history, keyed by call.
func resultsOf(history []*message.Message) map[string]*message.Message {
	results := map[string]*message.Message{}
	for _, m := range history {
		if m.Role == message.RoleTool {
			results[m.CallID] = m
		}
	}
	return results
}

// addLost adds an item, which the next write stores.
func (r *reader) addLost(it agent.Item, m *message.Message, results map[string]*message.Message) {
	in := recent{m}
	if it.Call != nil {
		in = append(in, results[it.Call.CallID])
	}
	r.out.LastSeq++
	d, _ := storeItem(Item{Seq: r.out.LastSeq, TurnID: m.TurnID, Item: it}, in)
	if rec, err := newRecord(RecordItem, m.Time, d); err == nil {
		r.repairs = append(r.repairs, rec)
	}
}

// shownIn returns the keys of the stored items of a turn.
func (r *reader) shownIn(turn string, data []byte) map[string]bool {
	shown := map[string]bool{}
	for _, ref := range r.log.items {
		var rec agent.Record
		var d itemData
		line := bytes.TrimSpace(data[ref.off : ref.off+int64(ref.n)])
		if !bytes.Contains(line, []byte(turn)) || decode(line, &rec) != nil ||
			decode(rec.Data, &d) != nil || d.TurnID != turn {
			continue
		}
		it := agent.Item{Type: d.Item.Type, MessageID: d.Item.MessageID}
		if d.Item.Call != nil {
			it.Call = &agent.CallItem{CallID: d.Item.Call.CallID}
		}
		shown[itemKey(it)] = true
	}
	return shown
}

func itemKey(it agent.Item) string {
	if it.Call != nil {
		return "call " + it.Call.CallID
	}
	return string(it.Type) + " " + it.MessageID
}

// itemsOf returns the items that show a message: its text, its reasoning, and the calls that have a
// result.
func itemsOf(m *message.Message, results map[string]*message.Message) (items []agent.Item) {
	text := func(typ agent.ItemType, id string) {
		if s := shownText(typ, m); s != "" {
			items = append(items, agent.Item{ID: id, Type: typ, CreatedAt: m.Time, Text: s,
				Source: m.Source, MessageID: m.ID})
		}
	}
	switch m.Role {
	case message.RoleUser:
		text(agent.ItemUser, m.ID)
	case message.RoleAssistant:
		text(agent.ItemReasoning, "reasoning-"+m.ID)
		text(agent.ItemAssistant, "text-"+m.ID)
		for _, c := range m.ToolCalls() {
			if res := results[c.ID]; res != nil {
				items = append(items, callItem(m.Time, m.ID, c, res))
			}
		}
	}
	return items
}

func callItem(at time.Time, messageID string, c *message.ToolCall,
	res *message.Message) agent.Item {
	status := agent.StatusCompleted
	if res.IsError {
		status = agent.StatusFailed
	}
	return agent.Item{ID: "item-" + c.ID, Type: agent.ItemToolCall, CreatedAt: at, Status: status,
		MessageID: messageID,
		Call: &agent.CallItem{CallID: c.ID, Name: c.Name, Label: c.Name, Args: c.Args,
			Result: res.TextContent(), IsError: res.IsError}}
}
