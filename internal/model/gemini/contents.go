package gemini

import (
	"encoding/base64"
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// continueText is a user part that is inserted where the API requires one but the history lacks it.
// It is inserted before a reply that begins the history, between two replies, and after a reply
// that ends the history.
const continueText = `{"text":"Continue."}`

// contents appends the history as contents. The content of a reply always follows user content.
func (c *call) contents(b []byte, see bool) ([]byte, error) {
	key := fmt.Sprintf("gemini/%s/%t", c.Model, see)
	encode := func(m *message.Message) ([]byte, error) { return c.parts(m, see), nil }
	w := contentWriter{c: c, b: append(modelhttp.AppendKey(b, "contents"), '[')}
	for _, m := range c.Req.Messages {
		if modelhttp.Skipped(m) {
			continue
		}
		parts, err := m.Encoded(key, encode)
		if err != nil {
			return nil, err
		}
		w.add(m.Role != message.RoleAssistant, m.Role == message.RoleTool, parts)
	}
	if w.role != "user" {
		w.add(true, false, []byte(continueText))
	}
	return append(w.b, "]}]"...), nil
}

// contentWriter writes contents. Consecutive messages of the same role form one content, except
// that tool results and user messages are separate.
type contentWriter struct {
	c       *call
	b       []byte
	role    string // role of the open content; "" before the first one
	results bool   // whether the open content contains only tool results
}

// add adds the parts of a user or model message. The results of a step form a separate content. A
// user message after them starts another content.
func (w *contentWriter) add(user, result bool, parts []byte) {
	if len(parts) == 0 {
		return
	}
	role := "model"
	if user {
		role = "user"
	} else if w.role != "user" {
		w.add(true, false, []byte(continueText))
	}
	if role == w.role && result == w.results {
		w.b = w.c.Builder.Put(append(w.b, ','), parts)
		return
	}
	if w.role != "" {
		w.b = append(w.b, "]},"...)
	}
	w.role, w.results = role, result
	w.b = append(append(append(w.b, `{"role":"`...), role...), `","parts":[`...)
	w.b = w.c.Builder.Put(w.b, parts)
}

// parts encodes a message as parts, joined by commas.
func (c *call) parts(m *message.Message, see bool) []byte {
	switch m.Role {
	case message.RoleAssistant:
		return c.reply(m)
	case message.RoleTool:
		return c.result(m, see)
	}
	var b []byte
	for i := range m.Content {
		b = appendPart(b, &m.Content[i], see)
	}
	if len(b) == 0 {
		b = appendText(b, "(empty message)")
	}
	return b
}

// appendPart appends a block of a user message or of a tool result.
func appendPart(b []byte, p *message.Block, see bool) []byte {
	switch {
	case p.Type == message.Reasoning || p.Type == message.ToolUse:
		return b
	case p.Type == message.Image && see && isImage(p), p.Type == message.File && isPDF(p):
		return appendInline(modelhttp.Next(b, 0), p)
	}
	return appendText(b, modelhttp.TextOf(p, isImage))
}

// isImage reports whether the API accepts an image. It accepts only data of these types.
func isImage(p *message.Block) bool {
	switch p.MimeType {
	case "image/jpeg", "image/png", "image/webp", "image/heic", "image/heif":
		return len(p.Data) > 0
	}
	return false
}

func isPDF(p *message.Block) bool { return p.MimeType == "application/pdf" }

func appendInline(b []byte, p *message.Block) []byte {
	b = modelhttp.AppendField(append(b, `{"inlineData":{`...), "mimeType", p.MimeType)
	data := base64.StdEncoding.EncodeToString(p.Data)
	return append(modelhttp.AppendField(b, "data", data), "}}"...)
}

// result encodes a tool result. For models from version 3 on, images and PDFs are part of the
// result. For earlier models, they follow the result.
func (c *call) result(m *message.Message, see bool) []byte {
	var text string
	var media []byte
	for i := range m.Content {
		p := &m.Content[i]
		if p.Type == message.Image && see && isImage(p) || p.Type == message.File && isPDF(p) {
			media = appendInline(modelhttp.Next(media, 0), p)
		} else if t := modelhttp.TextOf(p, isImage); t != "" {
			if text != "" {
				text += "\n"
			}
			text += t
		}
	}
	b := append([]byte(nil), `{"functionResponse":{`...)
	b = modelhttp.AppendField(b, "id", modelhttp.PlainName(m.CallID))
	b = modelhttp.AppendField(b, "name", toolName(m.Name))
	key := "output"
	if m.IsError {
		key = "error"
	}
	b = append(modelhttp.AppendKey(b, "response"), '{')
	b = append(modelhttp.AppendField(b, key, text), '}')
	g, _ := generationOf(c.Model)
	inside := !g.before(3, 0)
	if len(media) > 0 && inside {
		b = append(append(append(modelhttp.AppendKey(b, "parts"), '['), media...), ']')
	}
	b = append(b, "}}"...)
	if len(media) > 0 && !inside {
		b = append(append(b, ','), media...)
	}
	return b
}

// reply encodes a reply. A signature is sent back in the part in which it arrived, and only to the
// model that produced it. Thoughts without a signature are not sent back.
func (c *call) reply(m *message.Message) []byte {
	var b []byte
	signed := false // whether a call of this step has a signature, its own or the dummy
	g, _ := generationOf(c.Model)
	for i := range m.Content {
		p := &m.Content[i]
		signature := ""
		if m.Model == c.Model {
			signature = signatureOf(p)
		}
		switch {
		case p.Type == message.ToolUse && p.Call != nil:
			if signature == "" && !signed && !g.before(3, 0) {
				signature = dummySignature
			}
			signed = true
			b = appendCall(modelhttp.Next(b, 0), p.Call, signature)
		case signature != "":
			b = appendSigned(modelhttp.Next(b, 0), p, signature)
		case p.Type == message.Text || p.Type == message.Refusal:
			b = appendText(b, p.Text)
		}
	}
	return b
}

func appendCall(b []byte, call *message.ToolCall, signature string) []byte {
	b = append(b, `{"functionCall":{`...)
	b = modelhttp.AppendField(b, "id", modelhttp.PlainName(call.ID))
	b = modelhttp.AppendField(b, "name", toolName(call.Name))
	b = append(append(modelhttp.AppendKey(b, "args"), call.Args...), '}')
	if signature != "" {
		b = modelhttp.AppendField(b, "thoughtSignature", signature)
	}
	return append(b, '}')
}

// appendSigned appends a part with text or a thought, and its signature.
func appendSigned(b []byte, p *message.Block, signature string) []byte {
	b = modelhttp.AppendField(append(b, '{'), "text", p.Text)
	if p.Type == message.Reasoning && p.Text != "" {
		b = append(modelhttp.AppendKey(b, "thought"), "true"...)
	}
	return append(modelhttp.AppendField(b, "thoughtSignature", signature), '}')
}
