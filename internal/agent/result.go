package agent

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// resultMessage converts a tool's result to the message that answers a call.
func resultMessage(s *Session, t *turn, c *message.ToolCall, r *tool.Result) *message.Message {
	m := &message.Message{
		ID: s.opts.NewID(
			"msg_",
		), Role: message.RoleTool, CallID: c.ID, Name: c.Name, IsError: r.IsError,
		Details: r.Details, Time: time.Now(), TurnID: t.id, Author: "tools",
		Content: append([]message.Block{{Type: message.Text, Text: r.Text}}, r.Content...),
	}
	setMeta(m, tool.MetaKey, r.Meta, r.Meta != tool.Meta{})
	setMeta(m, activateKey, r.Activate, len(r.Activate) > 0)
	sanitize(m)
	return m
}

// activateKey is the key in message.Message.Meta for the deferred tools that a result loaded, so
// that they are loaded again after a restart.
const activateKey = "activate"

func setMeta(m *message.Message, key string, v any, set bool) {
	if !set {
		return
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return
	}
	if m.Meta == nil {
		m.Meta = map[string]json.RawMessage{}
	}
	m.Meta[key] = raw
}

// Activated returns the deferred tools that a stored result has loaded.
func Activated(m *message.Message) (names []string) {
	if raw, ok := m.Meta[activateKey]; ok && json.Unmarshal(raw, &names) != nil {
		return nil
	}
	return names
}

// openCalls returns the calls at the end of msgs that have no result yet.
func openCalls(msgs []*message.Message) []*message.ToolCall {
	i := len(msgs) - 1
	for i >= 0 && msgs[i].Role == message.RoleTool {
		i--
	}
	if i < 0 || msgs[i].Role != message.RoleAssistant {
		return nil
	}
	return msgs[i].ToolCalls()[min(len(msgs)-1-i, len(msgs[i].ToolCalls())):]
}

func (s *Session) activateLocked(names []string) {
	for _, n := range names {
		s.conv.active[strings.ToLower(n)] = true
	}
}
