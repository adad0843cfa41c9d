// Package message defines the data of the agent's history: messages, their content blocks, tool
// calls and usage. Its methods only read and copy this data. It does not depend on a provider, an
// editor or a file.
//
// A committed *Message is immutable and may be shared between goroutines. To change one, make a
// Clone first. Start at Message.
package message

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Role is the author's role in the conversation.
type Role string

// The roles of messages.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // the result of one tool call
)

// Source is the origin of a user message.
type Source string

// The sources on the wire, and the sources that never leave the engine.
const (
	SourcePrompt   Source = "prompt"
	SourceSteer    Source = "steer"
	SourceFollowUp Source = "followUp"
	SourceJob      Source = "job"
	SourceNudge    Source = "nudge"   // a hidden reminder from the engine
	SourceSummary  Source = "summary" // the hidden result of a compaction
	SourceOutcome  Source = "outcome" // the hidden outcome of earlier proposals
)

// BlockType is the kind of a content block.
type BlockType string

// The kinds of content blocks.
const (
	Text          BlockType = "text"
	Reasoning     BlockType = "reasoning"
	ToolUse       BlockType = "toolCall"
	Image         BlockType = "image"
	File          BlockType = "file"
	Resource      BlockType = "resource"
	Refusal       BlockType = "refusal"
	ToolReference BlockType = "toolReference" // names a deferred tool that was loaded
)

// Range is a span of a document, in LSP positions (zero-based line and character).
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Position is a zero-based line and character.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Block is one piece of content. Type determines which fields are set.
type Block struct {
	Type     BlockType `json:"type"`
	Text     string    `json:"text,omitempty"`     // text, reasoning, refusal, resource
	MimeType string    `json:"mimeType,omitempty"` // image, file
	Data     []byte    `json:"data,omitempty"`     // image, file: the bytes (base64 in JSON)
	URL      string    `json:"url,omitempty"`      // image by reference
	Name     string    `json:"name,omitempty"`     // file name; tool name of a toolReference
	URI      string    `json:"uri,omitempty"`      // resource
	Range    *Range    `json:"range,omitempty"`    // resource
	Call     *ToolCall `json:"call,omitempty"`     // toolCall
	// ID and Opaque contain data that must be sent back to the provider unchanged with its
	// reasoning (item ID, signature, encrypted content).
	ID     string          `json:"id,omitempty"`
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	ID   string `json:"id"` // unique in the session after repair
	Name string `json:"name"`
	// Args is always a valid JSON object. If the model sent anything else, Raw contains the model's
	// text and Problem explains what was wrong, so that the result can inform the model.
	Args    json.RawMessage `json:"args"`
	Raw     string          `json:"raw,omitempty"`
	Problem string          `json:"problem,omitempty"`
}

// Usage counts tokens and, if a price is known, cost. The zero value counts nothing.
type Usage struct {
	Input         int     `json:"input"`
	Output        int     `json:"output"`
	Cached        int     `json:"cached,omitempty"`
	CacheWrite    int     `json:"cacheWrite,omitempty"`
	Reasoning     int     `json:"reasoning,omitempty"`
	Total         int     `json:"total"`
	Cost          float64 `json:"cost,omitempty"`
	CostEstimated bool    `json:"costEstimated,omitempty"`
	Costs         Costs   `json:"costs,omitzero"`
}

// Costs are the parts of a cost. They add up to Usage.Cost. They are zero if no price is known.
type Costs struct {
	// Input is the cost of input that was neither read from nor written to a cache.
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// Add returns the sum of c and d.
func (c Costs) Add(d Costs) Costs {
	return Costs{c.Input + d.Input, c.Output + d.Output, c.CacheRead + d.CacheRead, c.CacheWrite +
		d.CacheWrite}
}

// Total returns the sum of the parts.
func (c Costs) Total() float64 { return c.Input + c.Output + c.CacheRead + c.CacheWrite }

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, Cached: u.Cached + v.Cached,
		CacheWrite: u.CacheWrite + v.CacheWrite, Reasoning: u.Reasoning + v.Reasoning,
		Total: u.Total + v.Total,
		Cost:  u.Cost + v.Cost, CostEstimated: u.CostEstimated || v.CostEstimated,
		Costs: u.Costs.Add(v.Costs),
	}
}

// StopReason is the reason why an assistant message ended.
type StopReason string

// The reasons for the end of a message. The reasons that providers report are mapped to them.
const (
	StopEnd           StopReason = "stop"
	StopToolUse       StopReason = "toolUse"
	StopLength        StopReason = "length"
	StopContentFilter StopReason = "contentFilter"
	StopError         StopReason = "error"
	StopAborted       StopReason = "aborted"
	StopUnknown       StopReason = "unknown"
)

// Message is one entry of the history.
type Message struct {
	ID      string  `json:"id"`
	Role    Role    `json:"role"`
	Content []Block `json:"content,omitempty"`

	// These fields are set only for a tool result.
	CallID  string          `json:"callId,omitempty"`
	Name    string          `json:"name,omitempty"` // tool name
	IsError bool            `json:"isError,omitempty"`
	Details json.RawMessage `json:"details,omitempty"` // used only for display

	// These fields are set only for an assistant message.
	Stop       StopReason `json:"stop,omitempty"`
	AbortPhase string     `json:"abortPhase,omitempty"` // inference, tool_execution
	Usage      *Usage     `json:"usage,omitempty"`
	Model      string     `json:"model,omitempty"`

	// Metadata.
	Time   time.Time `json:"time"`
	TurnID string    `json:"turnId,omitempty"` // the turn to which it belongs
	// Author is user, agent, tools, engine or job.
	Author string `json:"author,omitempty"`
	Source Source `json:"source,omitempty"`
	Hidden bool   `json:"hidden,omitempty"` // sent to the model but not shown
	// App is the kind of an app-level message, which is never sent to the model.
	App  string                     `json:"app,omitempty"`
	Meta map[string]json.RawMessage `json:"meta,omitempty"`

	derived derived
}

// derived caches values that are computed at most once per message.
type derived struct {
	mu       sync.Mutex
	encoded  []encoding   // one encoding for each requested format, rarely more than one
	measured atomic.Int64 // the measured size plus one; 0 if not measured
}

// encoding is the encoding of a message in one format.
type encoding struct {
	key   string
	bytes []byte
}

// TextContent returns the message's visible text: its joined text and refusal blocks.
func (m *Message) TextContent() string {
	var parts []string
	for i := range m.Content {
		if t := m.Content[i].Type; t == Text || t == Refusal {
			parts = append(parts, m.Content[i].Text)
		}
	}
	return strings.Join(parts, "") // does not copy a single part
}

// ShownText returns a user's message as it is displayed. Unlike TextContent, it puts a blank line
// between blocks that were sent separately.
func (m *Message) ShownText() string {
	var b strings.Builder
	ended := true // the next text starts on a new line
	for i := range m.Content {
		t := &m.Content[i]
		if t.Type != Text && t.Type != Refusal || t.Text == "" {
			continue
		}
		if !ended && !strings.HasPrefix(t.Text, "\n") {
			b.WriteString("\n\n")
		}
		b.WriteString(t.Text)
		ended = strings.HasSuffix(t.Text, "\n")
	}
	return b.String()
}

// ToolCalls returns the message's tool calls in the order in which the model made them.
func (m *Message) ToolCalls() []*ToolCall {
	var calls []*ToolCall
	for i := range m.Content {
		if c := m.Content[i].Call; m.Content[i].Type == ToolUse && c != nil {
			calls = append(calls, c)
		}
	}
	return calls
}

// Clone returns a copy without cached encodings. The copy can be changed without changing m, except
// for the contents of byte slices.
func (m *Message) Clone() *Message {
	c := &Message{
		ID: m.ID, Role: m.Role, CallID: m.CallID, Name: m.Name, IsError: m.IsError,
		Details: m.Details,
		Stop:    m.Stop, AbortPhase: m.AbortPhase, Model: m.Model, Time: m.Time, TurnID: m.TurnID,
		Author: m.Author, Source: m.Source, Hidden: m.Hidden, App: m.App,
	}
	if m.Usage != nil {
		u := *m.Usage
		c.Usage = &u
	}
	if m.Meta != nil {
		c.Meta = make(map[string]json.RawMessage, len(m.Meta))
		for k, v := range m.Meta {
			c.Meta[k] = v
		}
	}
	c.Content = append([]Block(nil), m.Content...)
	for i := range c.Content {
		if call := c.Content[i].Call; call != nil {
			dup := *call
			c.Content[i].Call = &dup
		}
	}
	return c
}

// Encoded returns the message's encoding under key. encode creates it on first use, and the message
// caches it, so that the history need not be encoded again for each model call. The key must
// identify the format and everything else that affects the encoding. Encoded is safe for concurrent
// use.
func (m *Message) Encoded(key string, encode func(*Message) ([]byte, error)) ([]byte, error) {
	m.derived.mu.Lock()
	defer m.derived.mu.Unlock()
	for i := range m.derived.encoded {
		if m.derived.encoded[i].key == key {
			return m.derived.encoded[i].bytes, nil
		}
	}
	b, err := encode(m)
	if err != nil {
		return nil, err
	}
	m.derived.encoded = append(m.derived.encoded, encoding{key, b})
	return b, nil
}

// Measured returns the message's size in tokens. measure estimates it on first use, and the message
// caches it. All callers must use the same measure. Measured is safe for concurrent use.
func (m *Message) Measured(measure func(*Message) int) int {
	if n := m.derived.measured.Load(); n > 0 {
		return int(n - 1)
	}
	n := measure(m)
	m.derived.measured.Store(int64(n) + 1)
	return n
}

// NewText returns a message with one text block. The caller sets ID and Time.
func NewText(role Role, text string) *Message {
	return &Message{Role: role, Content: []Block{{Type: Text, Text: text}}}
}
