package modelhttp

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Skipped reports whether a message is never sent to a model.
func Skipped(m *message.Message) bool {
	if m.App != "" {
		return true
	}
	if m.Role != message.RoleAssistant {
		return false
	}
	for i := range m.Content {
		switch b := &m.Content[i]; b.Type {
		case message.Text, message.Refusal:
			if b.Text != "" {
				return false
			}
		case message.ToolUse:
			return false
		}
	}
	return true
}

// ResourceText returns the text that represents a resource in a prompt.
func ResourceText(b *message.Block) string {
	name := b.URI
	if b.Range != nil {
		name += fmt.Sprintf(" lines %d-%d", b.Range.Start.Line+1, b.Range.End.Line+1)
	}
	if b.Text == "" {
		return name
	}
	return name + ":\n```\n" + b.Text + "\n```"
}

// IsTextFile reports whether a file's bytes can be put into the prompt unchanged.
func IsTextFile(b *message.Block) bool {
	return strings.HasPrefix(b.MimeType, "text/") || b.MimeType == "application/json" ||
		b.MimeType == ""
}

// DataURL returns a URL that contains the block's data.
func DataURL(b *message.Block) string {
	return "data:" + b.MimeType + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
}

// ImageURL returns the image's own URL, or a URL that contains its data.
func ImageURL(b *message.Block) string {
	if b.URL != "" {
		return b.URL
	}
	return DataURL(b)
}

// bytesPerToken is the approximate number of bytes in a token of text.
const bytesPerToken = 4

// InputTokens estimates the number of tokens in the request's text.
func InputTokens(req *agent.Request) int {
	n := 0
	for _, s := range req.System {
		n += len(s.Text)
	}
	for _, t := range req.Tools {
		n += len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		for i := range m.Content {
			n += len(m.Content[i].Text)
			if call := m.Content[i].Call; call != nil {
				n += len(call.Args)
			}
		}
	}
	return n / bytesPerToken
}

// TextFile returns the text that represents a text file in a prompt.
func TextFile(b *message.Block) string { return b.Name + ":\n```\n" + string(b.Data) + "\n```" }

// NoImage is the text that replaces an image if the model cannot see images.
const NoImage = "[an image was here; this model cannot see images]"

// HasImage reports whether a message contains an image.
func HasImage(m *message.Message) bool {
	for i := range m.Content {
		if m.Content[i].Type == message.Image {
			return true
		}
	}
	return false
}

// noticeImages informs the user that the request's images are not sent, because the model cannot
// see images.
func (c *Call) noticeImages() {
	for _, m := range c.Req.Messages {
		if HasImage(m) {
			c.Notice("images are not sent: " + c.Model + " cannot see them")
			return
		}
	}
}

// TextOf returns the text for a block that is sent as text. takesImage reports whether the API
// accepts an image.
func TextOf(p *message.Block, takesImage func(*message.Block) bool) string {
	switch {
	case p.Type == message.Resource:
		return ResourceText(p)
	case p.Type == message.Image && takesImage(p):
		return NoImage
	case p.Type == message.Image && p.URL != "" && !strings.HasPrefix(p.URL, "data:"):
		return "[an image was here: " + p.URL + "; only its bytes can be sent]"
	case p.Type == message.Image:
		return "[an image was here; its type, " + p.MimeType + ", cannot be sent]"
	case p.Type == message.File && IsTextFile(p):
		return TextFile(p)
	case p.Type == message.File:
		return "[the file " + p.Name + " was here; its type, " + p.MimeType + ", cannot be sent]"
	case p.Type == message.ToolReference:
		return p.Name
	}
	return p.Text
}
