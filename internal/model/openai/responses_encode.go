package openai

import (
	"encoding/json"
	"slices"
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// encodeResponses writes the body of a responses request. The whole history is sent each time
// (store:false), and reasoning is exchanged in encrypted form.
func (c *call) encodeResponses() ([]byte, error) {
	k, err := c.can()
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, c.writtenSize()), '{')
	b = c.responsesHead(b, k)
	k, d := c.withNative(k), c.deferring(k)
	b, err = c.responsesInput(append(modelhttp.AppendKey(b, "input"), '['), k, d)
	if err != nil {
		return nil, err
	}
	return append(c.responsesTools(append(b, ']'), k, d), '}'), nil
}

// responsesInput appends the history's items.
func (c *call) responsesInput(b []byte, k can, d *modelhttp.Loaded) ([]byte, error) {
	start := len(b)
	key := c.cacheKeyOf(APIResponses, k)
	if d != nil {
		key += "/" + searchItem
	}
	var after []byte // output to send after the last consecutive result
	var native nativeResults
	var forms []byte // the forms of the message's calls
	encode := func(m *message.Message) ([]byte, error) {
		return c.responsesMessage(m, k, d, forms), nil
	}
	for _, m := range c.Req.Messages {
		if modelhttp.Skipped(m) {
			continue
		}
		sent, ok, err := c.nativeResult(b, start, &native, m)
		if err != nil {
			return nil, err
		}
		if b = sent; ok {
			continue
		}
		if m.Role == message.RoleAssistant {
			forms = k.formsOf(m)
			native.begin(m, forms)
		}
		if m.Role != message.RoleTool && len(after) > 0 {
			b, after = append(modelhttp.Next(b, start), after...), nil
		}
		if d.Found(m) { // not cached: the encoding also depends on earlier searches
			b = c.searchOutput(modelhttp.Next(b, start), k, d, m)
			if said := said(d, m); len(said) > 0 {
				after = append(modelhttp.Next(after, 0), said...)
			}
			continue
		}
		one, err := m.Encoded(key, encode)
		if err != nil {
			return nil, err
		}
		if len(one) > 0 {
			b = c.Builder.Put(modelhttp.Next(b, start), one)
		}
	}
	if b = native.close(b); len(after) > 0 {
		b = append(modelhttp.Next(b, start), after...)
	}
	return b, nil
}

func (c *call) responsesHead(b []byte, k can) []byte {
	b = modelhttp.AppendField(b, "model", c.Model)
	b = append(modelhttp.AppendKey(b, "store"), "false"...)
	if !c.m.opts.NoStream {
		b = append(modelhttp.AppendKey(b, "stream"), "true"...)
	}
	var texts []string
	for _, s := range c.Req.System {
		texts = append(texts, s.Text)
	}
	if !k.call && len(c.Req.Tools) > 0 {
		texts = append(texts, textToolPrompt(c.Req.Tools))
	}
	if len(texts) > 0 {
		b = modelhttp.AppendField(b, "instructions", strings.Join(texts, "\n\n"))
	}
	if n := c.outputLimit(c.Client.Info(c.Model)); n > 0 {
		b = modelhttp.AppendInt(b, "max_output_tokens", n)
	}
	b = c.responsesSampling(b)
	level := c.Req.Thinking.Level
	asked := level != "" && c.takesEffort(level)
	if asked || c.reasons() {
		b = append(modelhttp.AppendKey(b, "include"), `["reasoning.encrypted_content"]`...)
	}
	if asked {
		b = append(modelhttp.AppendKey(b, "reasoning"), `{"summary":"auto"`...)
		b = append(modelhttp.AppendField(b, "effort", c.effort()), '}')
	}
	if c.Req.CacheKey != "" {
		b = modelhttp.AppendField(b, "prompt_cache_key", c.Req.CacheKey)
	}
	return b
}

// responsesSampling appends the two sampling parameters that the API supports, if the model accepts
// them.
func (c *call) responsesSampling(b []byte) []byte {
	s := c.Req.Sampling
	if c.reasons() {
		if s.Temperature != nil || s.TopP != 0 {
			c.Notice(c.Model + " does not support temperature or topP, so they are not sent")
		}
		s.Temperature, s.TopP = nil, 0
	}
	if s.TopK != 0 || s.MinP != 0 || s.PresencePenalty != 0 || s.RepetitionPenalty != 0 {
		c.Notice(
			"the responses API does not support topK, minP, presencePenalty or repetitionPenalty, so they are not sent",
		)
	}
	b = modelhttp.AppendOptional(b, "temperature", s.Temperature)
	b = modelhttp.AppendFloat(b, "top_p", s.TopP)
	return b
}

// responsesMessage encodes a message as input items.
func (c *call) responsesMessage(
	m *message.Message,
	k can,
	d *modelhttp.Loaded,
	forms []byte,
) []byte {
	switch m.Role {
	case message.RoleAssistant:
		return c.responsesAssistant(m, k, d, forms)
	case message.RoleTool:
		return c.responsesResult(m, k)
	}
	b := modelhttp.AppendField([]byte{'{'}, "role", string(m.Role))
	b = modelhttp.AppendKey(b, "content")
	if t, ok := plain(m, k); ok {
		return append(modelhttp.AppendString(b, t), '}')
	}
	return append(c.responsesParts(b, m, k), '}')
}

func (c *call) responsesParts(b []byte, m *message.Message, k can) []byte {
	b = append(b, '[')
	start := len(b)
	for i := range m.Content {
		p := &m.Content[i]
		switch {
		case p.Type == message.Image && k.see:
			b = append(
				modelhttp.AppendString(
					append(modelhttp.Next(b, start), `{"type":"input_image","image_url":`...),
					modelhttp.ImageURL(p),
				),
				'}',
			)
		case p.Type == message.File && !modelhttp.IsTextFile(p):
			b = modelhttp.AppendField(
				append(modelhttp.Next(b, start), `{"type":"input_file"`...),
				"filename",
				p.Name,
			)
			b = append(modelhttp.AppendField(b, "file_data", modelhttp.DataURL(p)), '}')
		default:
			t, _ := plain(&message.Message{Content: []message.Block{*p}}, k)
			b = append(
				modelhttp.AppendString(
					append(modelhttp.Next(b, start), `{"type":"input_text","text":`...),
					t,
				),
				'}',
			)
		}
	}
	return append(b, ']')
}

func (c *call) responsesResult(m *message.Message, k can) []byte {
	text, ok := plain(m, can{call: k.call})
	if !k.call {
		return append(
			modelhttp.AppendField(
				modelhttp.AppendField([]byte{'{'}, "role", "user"),
				"content",
				textToolResult(m.Name, text),
			),
			'}',
		)
	}
	b := modelhttp.AppendField([]byte{'{'}, "type", "function_call_output")
	b = modelhttp.AppendKey(modelhttp.AppendField(b, "call_id", m.CallID), "output")
	if k.see && modelhttp.HasImage(m) || !ok {
		return append(c.responsesParts(b, m, k), '}')
	}
	return append(modelhttp.AppendString(b, text), '}')
}

// responsesAssistant encodes a reply's items in order. A reasoning item is sent back only to the
// model that produced it, and only with the item that followed it, because the API refuses a
// reasoning item without that item.
func (c *call) responsesAssistant(
	m *message.Message,
	k can,
	d *modelhttp.Loaded,
	forms []byte,
) []byte {
	var b, held []byte
	if !k.call {
		b = modelhttp.AppendField([]byte{'{'}, "role", "assistant")
		return append(
			modelhttp.AppendField(b, "content", textToolCalls(m.TextContent(), m.ToolCalls())),
			'}',
		)
	}
	for i := range m.Content {
		p := &m.Content[i]
		var one []byte
		switch {
		case p.Type == message.Reasoning && m.Model == c.Model && c.takesBack(p.Opaque):
			held = append(modelhttp.Next(held, 0), p.Opaque...)
			continue
		case (p.Type == message.Text || p.Type == message.Refusal) && p.Text != "":
			one = append(
				modelhttp.AppendField(
					modelhttp.AppendField([]byte{'{'}, "role", "assistant"),
					"content",
					p.Text,
				),
				'}',
			)
		case p.Type == message.ToolUse && p.Call != nil:
			form := byte(asFunction)
			if len(forms) > 0 {
				form, forms = forms[0], forms[1:]
			}
			if one = responsesCall(p, form, m.Content[i:], d); one == nil {
				continue
			}
		default:
			continue
		}
		if len(held) > 0 {
			b, held = append(modelhttp.Next(b, 0), held...), nil
		}
		b = append(modelhttp.Next(b, 0), one...)
	}
	return b
}

// responsesCall encodes a call. rest contains the blocks starting with the call. The result is nil
// for a further command of a shell item, because the encoding of the first command contains it.
func responsesCall(
	p *message.Block,
	form byte,
	rest []message.Block,
	d *modelhttp.Loaded,
) []byte {
	switch {
	case form == asPatch:
		return appendPatchCall(p)
	case form == asShell:
		return appendShellCall(shellParts(rest))
	case form == asShellMore:
		return nil
	case d != nil && p.Call.Name == modelhttp.SearchTool:
		b := modelhttp.AppendField(
			[]byte(`{"type":"tool_search_call","execution":"client","status":"completed"`),
			"call_id",
			p.Call.ID,
		)
		return append(append(append(b, `,"arguments":`...), p.Call.Args...), '}')
	}
	b := modelhttp.AppendField([]byte{'{'}, "type", "function_call")
	b = modelhttp.AppendField(b, "call_id", p.Call.ID)
	b = modelhttp.AppendField(b, "name", modelhttp.PlainName(p.Call.Name))
	return append(modelhttp.AppendField(b, "arguments", string(p.Call.Args)), '}')
}

// takesBack reports whether the provider accepts a reasoning item that it sent. An item that is not
// encrypted only refers to an item that the provider has stored, and with store:false nothing is
// stored. Local servers do not encrypt items and accept the reasoning text itself.
func (c *call) takesBack(raw json.RawMessage) bool {
	var o struct {
		Type      string
		Encrypted string `json:"encrypted_content"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &o) != nil || o.Type != "reasoning" {
		return false
	}
	return o.Encrypted != "" || c.m.dialect == Local || c.m.dialect == Ollama
}

func (c *call) responsesTools(b []byte, k can, d *modelhttp.Loaded) []byte {
	if !k.call || len(c.Req.Tools) == 0 {
		return b
	}
	b = append(modelhttp.AppendKey(b, "tools"), '[')
	start := len(b)
	b = appendNativeTools(b, start, k)
	for i := range c.Req.Tools {
		switch t := &c.Req.Tools[i]; {
		case k.patch && t.Name == patchTool:
		case d.Has(t.Name): // the tool is sent with the result of the search that loaded it
		case d != nil && t.Name == modelhttp.SearchTool:
			b = appendSearchTool(modelhttp.Next(b, start), t)
		default:
			b = appendFunction(modelhttp.Next(b, start), t, "")
		}
	}
	if b = append(b, ']'); k.patch && c.Req.ToolChoice == patchTool {
		return append(modelhttp.AppendKey(b, "tool_choice"), `{"type":"apply_patch"}`...)
	}
	return c.toolChoice(b, `{"type":"function","name":`, "}")
}

// appendFunction appends a function in the format of the responses API. more contains additional
// members.
func appendFunction(b []byte, t *agent.ToolSpec, more string) []byte {
	at := len(b)
	b = appendTool(b, t)
	// This API enables strict mode by default.
	head := `{"type":"function",` + more + `"strict":false,`
	return slices.Replace(b, at, at+1, []byte(head)...)
}
