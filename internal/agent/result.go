package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// resultMessage makes a tool's result the message that answers a call.
func resultMessage(s *Session, t *turn, c *message.ToolCall, r *tool.Result) *message.Message {
	m := &message.Message{
		ID: s.opts.NewID("msg_"), Role: message.RoleTool, CallID: c.ID, Name: c.Name, IsError: r.IsError,
		Details: r.Details, Time: time.Now(), TurnID: t.id, Author: "tools",
		Content: append([]message.Block{{Type: message.Text, Text: r.Text}}, r.Content...),
	}
	setMeta(m, tool.MetaKey, r.Meta, r.Meta != tool.Meta{})
	setMeta(m, activateKey, r.Activate, len(r.Activate) > 0)
	sanitize(m)
	return m
}

// activateKey is the key of message.Message.Meta under which a result keeps the deferred
// tools that it loaded, so that they are loaded again after a restart.
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
		s.active[strings.ToLower(n)] = true
	}
}

// capResult shortens a result that is too long for the model: head and tail stay, the
// whole goes where a tool can read it.
func (c *callRun) capResult(r *tool.Result) {
	limit := c.reg.Spec.MaxResult
	for _, d := range []int{c.step.MaxResult, DefaultMaxResult} {
		if limit == 0 {
			limit = d
		}
	}
	if limit < 0 || len(r.Text) <= limit {
		return
	}
	where := ""
	if r.Meta.Spill == "" && c.s.opts.Spill != nil {
		path, err := c.s.opts.Spill(c.name()+"-"+c.call.ID, r.Text)
		if err == nil {
			r.Meta.Spill = path
		}
	}
	if r.Meta.Spill != "" {
		where = "; the whole is in " + r.Meta.Spill
	}
	r.Text = HeadTail(r.Text, limit, where)
}

// HeadTail shortens text to about limit bytes, half from its beginning and half from its
// end, cut at lines where one is near and never within a rune. where is added to the note
// that stands between them.
func HeadTail(text string, limit int, where string) string {
	if len(text) <= limit {
		return text
	}
	head, tail := text[:limit/2], text[len(text)-limit/2:]
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	head, tail = trimBroken(head), strings.TrimLeftFunc(tail, func(r rune) bool { return r == utf8.RuneError })
	return fmt.Sprintf("%s\n... (truncated: %d of %d bytes left out%s) ...\n%s", head, len(text)-len(head)-len(tail), len(text), where, tail)
}

// trimBroken cuts an incomplete rune off the end.
func trimBroken(s string) string {
	for i := 0; i < utf8.UTFMax && len(s) > 0; i++ {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}
