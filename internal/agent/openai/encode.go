package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\uFFFD"))
	return dst
}

// appendKey appends a comma, where the object has members already, and the key.
func appendKey(dst []byte, key string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), key...), '"', ':')
}

func appendField(dst []byte, key, value string) []byte {
	return appendString(appendKey(dst, key), value)
}

func appendInt(dst []byte, key string, n int) []byte {
	return strconv.AppendInt(appendKey(dst, key), int64(n), 10)
}

// appendFloat appends a number unless it is zero, which means the provider's default.
func appendFloat(dst []byte, key string, f float64) []byte {
	if f == 0 || f != f {
		return dst
	}
	return strconv.AppendFloat(appendKey(dst, key), f, 'g', -1, 64)
}

// appendExtra appends the user's own fields, in a fixed order, and closes the object. A
// field of ours that the user set too is left out by taken.
func appendExtra(dst []byte, extra map[string]json.RawMessage) []byte {
	keys := make([]string, 0, len(extra))
	for k := range extra {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if json.Valid(extra[k]) {
			dst = append(appendKey(dst, jsonKey(k)), extra[k]...)
		}
	}
	return append(dst, '}')
}

// jsonKey is k as it stands between the quotes.
func jsonKey(k string) string {
	q := appendString(nil, k)
	return string(q[1 : len(q)-1])
}

// taken says whether the user sets the field in provider settings.
func (c *call) taken(key string) bool {
	_, ok := c.m.opts.ExtraBody[key]
	return ok
}

// can says what the call's model can do.
type can struct{ see, call bool }

func (c *call) can() can {
	i := c.m.info(c.model)
	return can{see: i.Vision == nil || *i.Vision, call: i.Tools == nil || *i.Tools}
}

// cacheKeyOf names a message's encoding and everything that changes it.
func (c *call) cacheKeyOf(api string, k can) string {
	return fmt.Sprintf("%s/%s/%s/%t/%t", api, c.m.dialect, c.model, k.see, k.call)
}

// notice tells the user something once per call.
func (c *call) notice(text string) {
	if !slices.Contains(c.notices, text) {
		c.notices = append(c.notices, text)
	}
}

// noticeStripped tells of images that the model is not sent.
func (c *call) noticeStripped(k can) {
	if k.see {
		return
	}
	for _, m := range c.req.Messages {
		for i := range m.Content {
			if m.Content[i].Type == message.Image {
				c.notice("images are not sent: " + c.model + " cannot see them")
				return
			}
		}
	}
}

// skipped says whether a message is nothing that a model is sent.
func skipped(m *message.Message) bool {
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

// resourceText is how a resource reads in a prompt.
func resourceText(b *message.Block) string {
	name := b.URI
	if b.Range != nil {
		name += fmt.Sprintf(" lines %d-%d", b.Range.Start.Line+1, b.Range.End.Line+1)
	}
	if b.Text == "" {
		return name
	}
	return name + ":\n```\n" + b.Text + "\n```"
}

// isTextFile says whether a file's bytes can stand in the prompt as they are.
func isTextFile(b *message.Block) bool {
	return strings.HasPrefix(b.MimeType, "text/") || b.MimeType == "application/json" || b.MimeType == ""
}

func dataURL(b *message.Block) string {
	return "data:" + b.MimeType + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
}

// imageURL is the image's own URL, or one that holds its data.
func imageURL(b *message.Block) string {
	if b.URL != "" {
		return b.URL
	}
	return dataURL(b)
}

// outputLimit is the limit on the answer's tokens: the caller's, else what the model can
// say and the window has room for; 0 leaves it to the provider (see Dialect.derivesLimit).
func (c *call) outputLimit(info agent.ModelInfo) int {
	if n := c.req.Sampling.MaxTokens; n > 0 {
		if info.MaxOutput > 0 {
			n = min(n, info.MaxOutput)
		}
		return n
	}
	n := c.m.opts.MaxOutput
	if n == 0 && c.m.dialect.derivesLimit() {
		n = derivedOutput + c.anthropicBudget(derivedOutput)
		if info.MaxOutput > 0 {
			n = min(n, info.MaxOutput)
		} else if info.ContextWindow == 0 && c.m.dialect != Anthropic {
			return 0 // nothing is known of the model
		}
	}
	if n > 0 && info.ContextWindow > 0 {
		n = max(min(n, info.ContextWindow-c.inputTokens()*safeCount/100), min(n, minOutput))
	}
	return n
}

// The bounds of a derived output limit.
const (
	derivedOutput = 32000 // tokens beside those for thinking
	minOutput     = 1024
	safeCount     = 133 // percent of the estimated input: a limit beyond the window is refused
)

// bytesPerToken is how many bytes of text a token has, roughly.
const bytesPerToken = 4

// inputTokens estimates the request's size in tokens.
func (c *call) inputTokens() int {
	n := 0
	for _, s := range c.req.System {
		n += len(s.Text)
	}
	for _, t := range c.req.Tools {
		n += len(t.Description) + len(t.Schema)
	}
	for _, m := range c.req.Messages {
		for i := range m.Content {
			n += len(m.Content[i].Text)
			if call := m.Content[i].Call; call != nil {
				n += len(call.Args)
			}
		}
	}
	return n / bytesPerToken
}

// errNoTools refuses a request that cannot be served without tools.
func (c *call) errNoTools() error {
	return &retry.Error{
		Kind: retry.Client, Message: c.model + " cannot call tools, but a tool call is required",
		Hint: "choose a model with tool support, or leave toolChoice to auto",
	}
}
