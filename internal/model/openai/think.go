package openai

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// The tags around the thoughts of local models. They appear if the server has no reasoning parser.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkTags converts a thought at the very beginning of the content, <think>…</think>, to
// reasoning. Anywhere else, the tag stays text.
type thinkTags struct {
	state  int // 0 before the thought, 1 inside it, 2 after it
	held   string
	joiner modelhttp.Joiner
}

func (t *thinkTags) add(b *modelhttp.Blocks, raw []byte) {
	if t.state == 2 ||
		t.state == 0 && t.held == "" && len(raw) > 2 && raw[1] != '<' && raw[1] != ' ' &&
			raw[1] != '\\' {
		t.state = 2
		b.Add(message.Text, raw)
		return
	}
	t.held += t.joiner.Add(raw)
	t.advance(b)
}

func (t *thinkTags) advance(b *modelhttp.Blocks) {
	if t.state == 0 {
		s := strings.TrimLeft(t.held, " \n\r\t")
		switch {
		case strings.HasPrefix(s, thinkOpen):
			t.state, t.held = 1, s[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, s):
			return // the held text may still become a tag
		default:
			t.past(b, t.held)
			return
		}
	}
	if i := strings.Index(t.held, thinkClose); i >= 0 {
		b.AddText(message.Reasoning, t.held[:i])
		t.past(b, strings.TrimLeft(t.held[i+len(thinkClose):], "\n"))
		return
	}
	keep := partialSuffix(t.held, thinkClose)
	b.AddText(message.Reasoning, t.held[:len(t.held)-keep])
	t.held = t.held[len(t.held)-keep:]
}

// past processes text after the thought.
func (t *thinkTags) past(b *modelhttp.Blocks, s string) {
	t.state, t.held = 2, ""
	b.AddText(message.Text, s)
	b.Continue(message.Text, &t.joiner) // the text was split within a rune
}

// end releases the text that was held back.
func (t *thinkTags) end(b *modelhttp.Blocks) {
	kind := message.Text
	if t.state == 1 {
		kind = message.Reasoning
	}
	if t.state != 2 {
		b.AddText(kind, t.held+t.joiner.End())
	}
	t.held = ""
}

// partialSuffix returns the length of the longest suffix of s that is a prefix of word.
func partialSuffix(s, word string) int {
	for n := min(len(s), len(word)-1); n > 0; n-- {
		if strings.HasSuffix(s, word[:n]) {
			return n
		}
	}
	return 0
}
