package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// storedItem is an item on disk. Text that is part of a message (for a tool call, its result and
// its arguments) is not stored again. Ref and ArgsRef refer to it.
type storedItem struct {
	ID        string           `json:"id"`
	Type      agent.ItemType   `json:"type"`
	ParentID  string           `json:"parentId,omitempty"`
	CreatedAt time.Time        `json:"createdAt"`
	Text      string           `json:"text,omitempty"`
	Content   []message.Block  `json:"content,omitempty"`
	Source    message.Source   `json:"source,omitempty"`
	Status    agent.ItemStatus `json:"status,omitempty"`
	Level     string           `json:"level,omitempty"`
	Plan      []tool.PlanEntry `json:"plan,omitempty"`
	Call      *storedCall      `json:"call,omitempty"`
	MessageID string           `json:"messageId,omitempty"`
	Ref       *textRef         `json:"ref,omitempty"`
}

type storedCall struct {
	CallID     string          `json:"callId"`
	Name       string          `json:"name"`
	Label      string          `json:"label,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	ArgsRef    string          `json:"argsRef,omitempty"` // the message that contains the call with the arguments
	Result     string          `json:"result,omitempty"`
	Content    []message.Block `json:"content,omitempty"`
	Details    json.RawMessage `json:"details,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
	DurationMs int64           `json:"durationMs,omitempty"`
	ProposalID string          `json:"proposalId,omitempty"`
	Locations  []tool.Location `json:"locations,omitempty"`
}

// textRef refers to a part of a message's text. If Len is 0, it refers to the whole text.
type textRef struct {
	ID  string `json:"id"`
	Off int    `json:"off,omitempty"`
	Len int    `json:"len,omitempty"`
}

type itemData struct {
	Seq    uint64     `json:"seq"`
	TurnID string     `json:"turnId,omitempty"`
	Item   storedItem `json:"item"`
}

// messages finds messages by ID and results by call.
type messages interface {
	byID(id string) *message.Message
	byCall(callID string) *message.Message
}

// storeItem prepares an item for the log. found is false if a message that the item shows is not
// stored yet. In that case, storing the item now would store its text twice.
func storeItem(it Item, in messages) (d itemData, found bool) {
	i := it.Item
	s := storedItem{
		ID: i.ID, Type: i.Type, ParentID: i.ParentID, CreatedAt: i.CreatedAt, Text: i.Text,
		Content: i.Content,
		Source:  i.Source, Status: i.Status, Level: i.Level, Plan: i.Plan, MessageID: i.MessageID,
	}
	if c := i.Call; c != nil {
		s.Call = &storedCall{
			CallID: c.CallID, Name: c.Name, Label: c.Label, Args: c.Args, Result: c.Result,
			Content: c.Content, Details: c.Details,
			IsError: c.IsError, DurationMs: c.Duration.Milliseconds(), ProposalID: c.ProposalID,
			Locations: c.Locations,
		}
		found = s.referCall(in)
	} else {
		found = s.refer(in.byID(i.MessageID), i.Text) || i.MessageID == ""
	}
	return itemData{Seq: it.Seq, TurnID: it.TurnID, Item: s}, found
}

// refer replaces the item's text with a reference to m if m contains the text. It returns false if
// m is nil.
func (s *storedItem) refer(m *message.Message, text string) bool {
	if m == nil {
		return false
	}
	full := shownText(s.Type, m)
	if off := strings.Index(full, text); text != "" && off >= 0 {
		s.Ref = &textRef{ID: m.ID, Off: off}
		if len(full) != len(text) {
			s.Ref.Len = len(text)
		}
		s.Text = ""
	}
	return true
}

// referCall replaces a call's result and arguments with references if messages contain them. It
// returns false if the message with the result is not found.
func (s *storedItem) referCall(in messages) bool {
	c := s.Call
	if m := in.byID(s.MessageID); m != nil {
		if call := callOf(m, c.CallID); call != nil && bytes.Equal(call.Args, c.Args) {
			c.Args, c.ArgsRef = nil, m.ID
		}
	}
	if !s.refer(in.byCall(c.CallID), c.Result) {
		return false
	}
	if s.Ref != nil {
		c.Result = ""
	}
	return true
}

func callOf(m *message.Message, id string) *message.ToolCall {
	for _, c := range m.ToolCalls() {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// item converts a stored item back, with the text from the messages.
func (d itemData) item(in messages) Item {
	s := d.Item
	text := s.Text
	if s.Ref != nil {
		text = s.Ref.text(s.Type, in.byID(s.Ref.ID))
	}
	it := agent.Item{
		ID: s.ID, Type: s.Type, ParentID: s.ParentID, CreatedAt: s.CreatedAt, Text: text,
		Content: s.Content,
		Source:  s.Source, Status: s.Status, Level: s.Level, Plan: s.Plan, MessageID: s.MessageID,
	}
	if c := s.Call; c != nil {
		it.Text = ""
		it.Call = &agent.CallItem{
			CallID: c.CallID, Name: c.Name, Label: c.Label, Args: c.Args, Result: c.Result,
			Content: c.Content, Details: c.Details,
			IsError: c.IsError, Duration: time.Duration(c.DurationMs) * time.Millisecond,
			ProposalID: c.ProposalID, Locations: c.Locations,
		}
		if s.Ref != nil {
			it.Call.Result = text
		}
		if c.ArgsRef != "" {
			if m := in.byID(c.ArgsRef); m != nil && callOf(m, c.CallID) != nil {
				it.Call.Args = callOf(m, c.CallID).Args
			}
		}
	}
	return Item{Seq: d.Seq, TurnID: d.TurnID, Item: it}
}

// text returns the referenced text. If the message became shorter because a secret was removed,
// text returns the part that remains.
func (r *textRef) text(typ agent.ItemType, m *message.Message) string {
	if m == nil {
		return ""
	}
	full := shownText(typ, m)
	if r.Len == 0 {
		return full
	}
	from := min(r.Off, len(full))
	return strings.ToValidUTF8(full[from:min(from+r.Len, len(full))], "")
}

// shownText returns the text of m that an item of the type shows.
func shownText(typ agent.ItemType, m *message.Message) string {
	if typ == agent.ItemUser {
		return m.ShownText()
	}
	if typ != agent.ItemReasoning {
		return m.TextContent()
	}
	var b strings.Builder
	for i := range m.Content {
		if m.Content[i].Type == message.Reasoning {
			b.WriteString(m.Content[i].Text)
		}
	}
	return b.String()
}

// recentMessages is the number of recent messages that are kept in memory to look up the text of
// items.
const recentMessages = 128

// recent contains the last messages of a session.
type recent []*message.Message

func (r *recent) add(m *message.Message) {
	if len(*r) >= recentMessages {
		n := copy(*r, (*r)[recentMessages/2:])
		clear((*r)[n:])
		*r = (*r)[:n]
	}
	*r = append(*r, m)
}

func (r recent) byID(id string) *message.Message {
	for i := len(r) - 1; i >= 0 && id != ""; i-- {
		if r[i].ID == id {
			return r[i]
		}
	}
	return nil
}

func (r recent) byCall(callID string) *message.Message {
	for i := len(r) - 1; i >= 0; i-- {
		if r[i].Role == message.RoleTool && r[i].CallID == callID {
			return r[i]
		}
	}
	return nil
}
