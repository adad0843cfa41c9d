package openai

import (
	"encoding/json"
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// continueText is inserted between two consecutive replies, because strict providers require a user
// message there. Such replies occur if the first reply was cut off and continued.
const continueText = "Continue."

// encodeChat writes the body of a chat request. The encoding of each message is cached for later
// requests. Long encodings are not copied into the body.
func (c *call) encodeChat() ([]byte, error) {
	k, err := c.can()
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, c.writtenSize())
	b = append(b, '{')
	for _, part := range []func([]byte, can) ([]byte, error){c.chatHead, c.chatMessages,
		c.chatTools} {
		var err error
		if b, err = part(b, k); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// writtenSize estimates the number of bytes of the body that are written only for this request.
func (c *call) writtenSize() int {
	n := 4096 + 128*len(c.Req.Messages)
	for _, s := range c.Req.System {
		n += len(s.Text) * 5 / 4
	}
	return n
}

func (c *call) chatHead(b []byte, _ can) ([]byte, error) {
	info := c.Client.Info(c.Model)
	b = modelhttp.AppendField(b, "model", c.Model)
	if !c.m.opts.NoStream {
		b = append(modelhttp.AppendKey(b, "stream"), "true"...)
		if c.m.dialect.streamUsage() {
			b = append(modelhttp.AppendKey(b, "stream_options"), `{"include_usage":true}`...)
		}
	}
	if n := c.outputLimit(info); n > 0 {
		b = modelhttp.AppendInt(b, c.limitField(), n)
	}
	b = c.sampling(b)
	b = c.chatThinking(b)
	if c.Req.CacheKey != "" && c.m.dialect.cacheKey() {
		b = modelhttp.AppendField(b, "prompt_cache_key", c.Req.CacheKey)
	}
	return b, nil
}

// limitField returns the name of the field for the output limit. OpenAI's reasoning models refuse
// max_tokens, and most other servers do not know max_completion_tokens.
func (c *call) limitField() string {
	if (c.m.dialect == OpenAI || c.m.dialect == Azure) &&
		!strings.HasPrefix(catalog.BaseName(c.Model), "gpt-3") || c.reasons() {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// sampling appends the sampling parameters that are set and that the provider supports.
func (c *call) sampling(b []byte) []byte {
	s := c.Req.Sampling
	if (c.m.dialect == OpenAI || c.m.dialect == Azure) && c.reasons() {
		if s.Temperature != nil || s.TopP != 0 || s.PresencePenalty != 0 {
			c.Notice(c.Model + " does not support temperature, topP or presencePenalty, so they are not sent")
		}
		s.Temperature, s.TopP, s.PresencePenalty = nil, 0, 0
	}
	if !c.m.dialect.samplers() && (s.TopK != 0 || s.MinP != 0 || s.RepetitionPenalty != 0) {
		c.Notice("the provider does not support topK, minP or repetitionPenalty, so they are not sent")
		s.TopK, s.MinP, s.RepetitionPenalty = 0, 0, 0
	}
	b = modelhttp.AppendOptional(b, "temperature", s.Temperature)
	for _, f := range []struct {
		key string
		v   float64
	}{
		{"top_p", s.TopP}, {"top_k", float64(s.TopK)}, {"min_p", s.MinP},
		{"presence_penalty", s.PresencePenalty}, {"repetition_penalty", s.RepetitionPenalty},
	} {
		b = modelhttp.AppendFloat(b, f.key, f.v)
	}
	return b
}

// chatMessages appends the system prompt and the history.
func (c *call) chatMessages(b []byte, k can) ([]byte, error) {
	b = append(modelhttp.AppendKey(b, "messages"), '[')
	start := len(b)
	b = c.chatSystem(b, k)
	key := c.cacheKeyOf(APIChat, k)
	encode := func(m *message.Message) ([]byte, error) { return c.chatMessage(m, k), nil }
	var last message.Role
	var pending []*message.Message // results whose images follow the last consecutive result
	for _, m := range c.Req.Messages {
		if modelhttp.Skipped(m) {
			continue
		}
		if m.Role != message.RoleTool {
			b, pending = c.chatImages(b, start, pending), nil
		}
		if m.Role == message.RoleAssistant && last == message.RoleAssistant {
			b = append(modelhttp.Next(b, start), `{"role":"user","content":"`+continueText+`"}`...)
		}
		one, err := m.Encoded(key, encode)
		if err != nil {
			return nil, err
		}
		b = c.Builder.Put(modelhttp.Next(b, start), one)
		if m.Role == message.RoleTool && k.see && modelhttp.HasImage(m) {
			pending = append(pending, m)
		}
		last = m.Role
	}
	return append(c.chatImages(b, start, pending), ']'), nil
}

// chatImages appends the images of each tool result as a user message, because a tool message of
// the chat API can contain only text.
func (c *call) chatImages(b []byte, start int, results []*message.Message) []byte {
	for _, m := range results {
		b = append(modelhttp.Next(b, start), `{"role":"user","content":[{"type":"text","text":`...)
		b = append(modelhttp.AppendString(b, "Images of the result of "+m.Name+":"), '}')
		for i := range m.Content {
			if m.Content[i].Type == message.Image {
				b = c.chatImage(append(b, ','), &m.Content[i])
			}
		}
		b = append(b, "]}"...)
	}
	return b
}

// chatSystem appends the system prompt as one string, or as parts with cache marks if the provider
// supports them.
func (c *call) chatSystem(b []byte, k can) []byte {
	system := c.Req.System
	if !k.call && len(c.Req.Tools) > 0 {
		system = append(system[:len(system):len(system)],
			agent.SystemBlock{Text: textToolPrompt(c.Req.Tools)})
	}
	if len(system) == 0 {
		return b
	}
	b = append(b, `{"role":"system","content":`...)
	if !c.m.dialect.cacheControl(c.Model) {
		texts := make([]string, 0, len(system))
		for _, s := range system {
			texts = append(texts, s.Text)
		}
		return append(modelhttp.AppendString(b, strings.Join(texts, "\n\n")), '}')
	}
	b = append(b, '[')
	for i, s := range system {
		if i > 0 {
			b = append(b, ',')
		}
		b = modelhttp.AppendString(append(b, `{"type":"text","text":`...), s.Text)
		if s.Cache {
			b = append(b, `,"cache_control":{"type":"ephemeral"}`...)
		}
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// chatMessage encodes one message.
func (c *call) chatMessage(m *message.Message, k can) []byte {
	switch m.Role {
	case message.RoleAssistant:
		return c.chatAssistant(m, k)
	case message.RoleTool:
		return c.chatResult(m, k)
	}
	role := m.Role
	if _, ok := plain(m, k); !ok { // a system message can contain only text
		role = message.RoleUser
	}
	b := modelhttp.AppendField([]byte{'{'}, "role", string(role))
	return append(c.chatContent(modelhttp.AppendKey(b, "content"), m, k), '}')
}

// chatContent appends the content of a message as a string if possible, and otherwise as a list of
// parts.
func (c *call) chatContent(b []byte, m *message.Message, k can) []byte {
	if t, ok := plain(m, k); ok {
		return modelhttp.AppendString(b, t)
	}
	b = append(b, '[')
	start := len(b)
	for i := range m.Content {
		b = c.chatPart(modelhttp.Next(b, start), &m.Content[i], k)
	}
	return append(b, ']')
}

// plain returns the content as one string if possible.
func plain(m *message.Message, k can) (string, bool) {
	var parts []string
	for i := range m.Content {
		b := &m.Content[i]
		switch {
		case b.Type == message.Text || b.Type == message.Refusal:
			parts = append(parts, b.Text)
		case b.Type == message.Resource:
			parts = append(parts, modelhttp.ResourceText(b))
		case b.Type == message.Image && !k.see:
			parts = append(parts, modelhttp.NoImage)
		case b.Type == message.File && modelhttp.IsTextFile(b):
			parts = append(parts, modelhttp.TextFile(b))
		case b.Type == message.ToolReference:
			parts = append(parts, b.Name)
		case b.Type == message.Reasoning:
		default:
			return "", false
		}
	}
	return strings.Join(parts, "\n\n"), true
}

func (c *call) chatPart(b []byte, p *message.Block, k can) []byte {
	switch {
	case p.Type == message.Image && k.see:
		return c.chatImage(b, p)
	case p.Type == message.File && !modelhttp.IsTextFile(p):
		b = append(b, `{"type":"file","file":{`...)
		b = modelhttp.AppendField(modelhttp.AppendField(b, "filename", p.Name), "file_data",
			modelhttp.DataURL(p))
		return append(b, "}}"...)
	}
	t, _ := plain(&message.Message{Content: []message.Block{*p}}, k)
	return append(modelhttp.AppendString(append(b, `{"type":"text","text":`...), t), '}')
}

func (c *call) chatImage(b []byte, p *message.Block) []byte {
	return append(modelhttp.AppendString(append(b, `{"type":"image_url","image_url":{"url":`...),
		modelhttp.ImageURL(p)), "}}"...)
}

// chatResult encodes a tool result.
func (c *call) chatResult(m *message.Message, k can) []byte {
	text, ok := plain(m, can{call: k.call})
	if !ok {
		text = m.TextContent()
	}
	if k.see && modelhttp.HasImage(m) {
		text = m.TextContent()
	}
	if !k.call {
		return append(modelhttp.AppendField(modelhttp.AppendField([]byte{'{'}, "role", "user"),
			"content", textToolResult(m.Name, text)), '}')
	}
	b := modelhttp.AppendField(modelhttp.AppendField([]byte{'{'}, "role", "tool"), "tool_call_id",
		m.CallID)
	if c.m.dialect == Gemini {
		b = modelhttp.AppendField(b, "name", modelhttp.PlainName(m.Name))
	}
	return append(modelhttp.AppendField(b, "content", text), '}')
}

// chatAssistant encodes a reply. Its content is never null, because some servers refuse null.
func (c *call) chatAssistant(m *message.Message, k can) []byte {
	b := modelhttp.AppendField([]byte{'{'}, "role", "assistant")
	calls := m.ToolCalls()
	if !k.call {
		return append(modelhttp.AppendField(b, "content", textToolCalls(m.TextContent(), calls)),
			'}')
	}
	b = modelhttp.AppendField(b, "content", m.TextContent())
	b = c.chatReasoning(b, m, len(calls) > 0)
	if len(calls) == 0 {
		return append(b, '}')
	}
	b = append(modelhttp.AppendKey(b, "tool_calls"), '[')
	start := len(b)
	for i := range m.Content {
		if p := &m.Content[i]; p.Type == message.ToolUse && p.Call != nil {
			b = c.chatCall(modelhttp.Next(b, start), p, m.Model == c.Model)
		}
	}
	return append(b, "]}"...)
}

func (c *call) chatCall(b []byte, p *message.Block, own bool) []byte {
	b = modelhttp.AppendField(append(b, '{'), "id", p.Call.ID)
	b = append(b, `,"type":"function","function":{`...)
	b = append(modelhttp.AppendField(modelhttp.AppendField(b, "name",
		modelhttp.PlainName(p.Call.Name)), "arguments", string(p.Call.Args)), '}')
	if own && json.Valid(p.Opaque) && originOf(p).Item == "" {
		b = append(modelhttp.AppendKey(b, "extra_content"), p.Opaque...)
	}
	return append(b, '}')
}

// chatReasoning appends the reasoning that must be sent back to the provider.
func (c *call) chatReasoning(b []byte, m *message.Message, calls bool) []byte {
	if m.Model != c.Model {
		return b
	}
	var thought strings.Builder
	for i := range m.Content {
		p := &m.Content[i]
		if p.Type != message.Reasoning {
			continue
		}
		thought.WriteString(p.Text)
		var o struct {
			Details json.RawMessage `json:"reasoning_details"`
		}
		if c.m.dialect == OpenRouter && json.Unmarshal(p.Opaque, &o) == nil && len(o.Details) > 0 {
			b = append(modelhttp.AppendKey(b, "reasoning_details"), o.Details...)
		}
	}
	if calls && c.m.dialect.replaysThought() && thought.Len() > 0 {
		b = modelhttp.AppendField(b, "reasoning_content", thought.String())
	}
	return b
}

// chatTools appends the tools and the tool choice.
func (c *call) chatTools(b []byte, k can) ([]byte, error) {
	if !k.call || len(c.Req.Tools) == 0 {
		return b, nil
	}
	b = c.Builder.Put(modelhttp.AppendKey(b, "tools"),
		c.m.Client.Tools.Encode(c.Req.Tools, c.chatTool))
	return c.toolChoice(b, `{"type":"function","function":{"name":`, "}}"), nil
}

// chatTool appends a tool in the format of the chat API.
func (c *call) chatTool(b []byte, t *agent.ToolSpec) []byte {
	b = append(b, `{"type":"function","function":`...)
	return append(appendTool(b, t), '}')
}

// appendTool appends the object that describes a function. Both APIs use the same object.
func appendTool(b []byte, t *agent.ToolSpec) []byte {
	b = modelhttp.AppendField(append(b, '{'), "name", modelhttp.PlainName(t.Name))
	b = modelhttp.AppendField(b, "description", t.Description)
	return append(modelhttp.AppendSchema(b, "parameters", t), '}')
}

func (c *call) toolChoice(b []byte, open, closing string) []byte {
	switch choice := c.Req.ToolChoice; choice {
	case "":
		return b
	case "auto", "none", "required":
		return modelhttp.AppendField(b, "tool_choice", choice)
	default:
		return append(modelhttp.AppendString(append(modelhttp.AppendKey(b, "tool_choice"), open...),
			modelhttp.PlainName(choice)), closing...)
	}
}
