package anthropic

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// continueText is a user message that is inserted where the API requires a user message but the
// history lacks one. It is inserted before a reply that begins the history, between two replies,
// and after a reply that ends the history.
const continueText = `{"type":"text","text":"Continue."}`

// entry is one message of the request. It contains the blocks of one or more messages of the
// history.
type entry struct {
	user    bool
	results bool             // whether the entry begins with tool results
	first   *message.Message // the entry's first message of the history; nil for continueText
	from    int              // the entry's blocks are call.blockLists[from:to]
	to      int
}

// messages appends the history. The last two user messages end with a mark. Usually, the first of
// them ended the previous request of this conversation. The service looks for a cached prefix at
// most 20 blocks before a mark. With the second mark, it finds the prefix no matter how much was
// added since.
func (c *call) messages(b []byte) []byte {
	marked := map[int]bool{}
	for i := len(c.entries) - 1; i >= 0 && len(marked) < 2; i-- {
		if c.entries[i].user {
			marked[i] = true
		}
	}
	b = append(modelhttp.AppendKey(b, "messages"), '[')
	start := len(b)
	for i, e := range c.entries {
		role := `{"role":"assistant","content":[`
		if e.user {
			role = `{"role":"user","content":[`
		}
		b = append(modelhttp.Next(b, start), role...)
		at := len(b)
		for n := e.from; n < e.to; n++ {
			b = modelhttp.Next(b, at)
			blocks := c.blockLists[n]
			if n < e.to-1 || !marked[i] {
				b = c.Builder.Put(b, blocks)
				continue
			}
			b = c.Builder.Put(b, blocks[:len(blocks)-1])
			b = append(append(b, mark...), '}')
		}
		b = append(b, "]}"...)
	}
	return append(b, ']')
}

// arrange converts the history to entries. User and assistant entries alternate, and tool results
// are at the beginning of a user entry.
func (c *call) arrange(see bool) error {
	key := fmt.Sprintf("anthropic/%s/%t", c.Model, see)
	encode := func(m *message.Message) ([]byte, error) { return c.blocks(m, see), nil }
	c.entries, c.blockLists = make(
		[]entry,
		0,
		len(c.Req.Messages)+1,
	), make(
		[][]byte,
		0,
		len(c.Req.Messages)+1,
	)
	for _, m := range c.Req.Messages {
		if modelhttp.Skipped(m) {
			continue
		}
		if m.Role != message.RoleTool {
			c.tellSaid()
		}
		// The encoding is not cached, because it also depends on earlier searches.
		if c.loaded.Found(m) && len(c.loaded.At(m)) > 0 {
			c.add(m, c.searchResult(m))
			if said := c.loaded.Said(m); said != "" {
				c.said = append(c.said, appendText(nil, said))
			}
			continue
		}
		blocks, err := m.Encoded(key, encode)
		if err != nil {
			return err
		}
		c.add(m, blocks)
	}
	c.tellSaid()
	if c.paused != nil {
		c.add(c.paused, c.assistant(c.paused, true))
	} else if n := len(c.entries); n == 0 || !c.entries[n-1].user {
		c.add(nil, []byte(continueText))
	}
	return nil
}

// tellSaid adds the text that tool searches returned in addition to tools. It is called after a
// series of consecutive tool results.
func (c *call) tellSaid() {
	for _, blocks := range c.said {
		c.add(nil, blocks)
	}
	c.said = nil
}

// add adds the blocks of a message from the history. If m is nil, the blocks belong to the user,
// but to no message.
func (c *call) add(m *message.Message, blocks []byte) {
	if len(blocks) == 0 {
		return
	}
	user := m == nil || m.Role != message.RoleAssistant
	var last *entry
	if n := len(c.entries); n > 0 {
		last = &c.entries[n-1]
	}
	if !user && (last == nil || !last.user) {
		c.begin(true, nil, []byte(continueText))
	} else if user && last != nil && last.user {
		c.blockLists = append(c.blockLists, blocks)
		last.to++
		return
	}
	c.begin(user, m, blocks)
}

// begin starts an entry.
func (c *call) begin(user bool, m *message.Message, blocks []byte) {
	n := len(c.blockLists)
	c.blockLists = append(c.blockLists, blocks)
	c.entries = append(c.entries, entry{user, m != nil && m.Role == message.RoleTool, m, n, n + 1})
}

// blocks encodes a message as content blocks, joined by commas.
func (c *call) blocks(m *message.Message, see bool) []byte {
	switch m.Role {
	case message.RoleAssistant:
		return c.assistant(m, false)
	case message.RoleTool:
		return c.result(m, see)
	}
	b := c.content(nil, m, see)
	if len(b) == 0 {
		b = appendText(b, "(empty message)")
	}
	return b
}

// content appends the blocks of a user message.
func (c *call) content(b []byte, m *message.Message, see bool) []byte {
	for i := range m.Content {
		p := &m.Content[i]
		switch {
		case p.Type == message.Reasoning || p.Type == message.ToolUse:
		case p.Type == message.Image && see && isImage(p):
			b = appendImage(b, p)
		case p.Type == message.File && p.MimeType == "application/pdf":
			b = appendSource(modelhttp.Next(b, 0), "document", p)
		default:
			b = appendText(b, modelhttp.TextOf(p, isImage))
		}
	}
	return b
}

// appendText appends a text block. The API refuses blocks without a visible character.
func appendText(b []byte, text string) []byte {
	if strings.TrimSpace(text) == "" {
		return b
	}
	return append(
		modelhttp.AppendString(append(modelhttp.Next(b, 0), `{"type":"text","text":`...), text),
		'}',
	)
}

// isImage reports whether the API accepts an image. It accepts images by URL, and data of these
// types.
func isImage(p *message.Block) bool {
	switch p.MimeType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return p.URL != "" && !strings.HasPrefix(p.URL, "data:")
}

func appendImage(b []byte, p *message.Block) []byte {
	b = modelhttp.Next(b, 0)
	if p.URL == "" {
		return appendSource(b, "image", p)
	}
	b = append(b, `{"type":"image","source":{"type":"url"`...)
	return append(modelhttp.AppendField(b, "url", p.URL), "}}"...)
}

func appendSource(b []byte, kind string, p *message.Block) []byte {
	b = append(modelhttp.AppendField(append(b, '{'), "type", kind), `,"source":{"type":"base64"`...)
	b = modelhttp.AppendField(b, "media_type", p.MimeType)
	b = append(modelhttp.AppendField(b, "data", base64.StdEncoding.EncodeToString(p.Data)), '}')
	if kind == "document" && p.Name != "" {
		b = modelhttp.AppendField(b, "title", p.Name)
	}
	return append(b, '}')
}

// result encodes a tool result. The API allows only text in a result that is marked as an error, so
// a failed call's result that contains an image is not marked.
func (c *call) result(m *message.Message, see bool) []byte {
	b := []byte(`{"type":"tool_result"`)
	b = modelhttp.AppendField(b, "tool_use_id", modelhttp.PlainName(m.CallID))
	content := c.content(nil, m, see)
	if len(content) > 0 {
		b = append(append(append(modelhttp.AppendKey(b, "content"), '['), content...), ']')
	}
	if m.IsError && !modelhttp.HasImage(m) {
		b = append(modelhttp.AppendKey(b, "is_error"), "true"...)
	}
	return append(b, '}')
}

// assistant encodes a reply. Thinking is sent back unmodified, and only to the model that produced
// it. Only a paused reply may end with thinking.
func (c *call) assistant(m *message.Message, paused bool) []byte {
	var b []byte
	end := 0 // end of the last block that may come last in the message
	for i := range m.Content {
		p, before := &m.Content[i], len(b)
		switch {
		case p.Type == message.Reasoning:
			if raw, _ := takeBack(p); raw != nil && m.Model == c.Model {
				b = append(modelhttp.Next(b, 0), raw...)
			}
			continue
		case p.Type == message.ToolUse && p.Call != nil:
			b = modelhttp.AppendField(
				append(modelhttp.Next(b, 0), `{"type":"tool_use"`...),
				"id",
				modelhttp.PlainName(p.Call.ID),
			)
			b = append(
				append(
					modelhttp.AppendKey(
						modelhttp.AppendField(b, "name", modelhttp.PlainName(p.Call.Name)),
						"input",
					),
					p.Call.Args...),
				'}',
			)
		case p.Type == message.Text || p.Type == message.Refusal:
			b = appendText(b, p.Text)
		}
		if len(b) > before {
			end = len(b)
		}
	}
	if paused {
		return b
	}
	return b[:end]
}
