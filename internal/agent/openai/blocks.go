package openai

import (
	"bytes"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// blocks gathers the text blocks of a reply in the order in which they came and passes on
// each piece. A change of kind begins a new block.
type blocks struct {
	on   func(agent.Delta)
	list []message.Block
	lane lane // of the last block
}

func (b *blocks) empty() bool { return len(b.list) == 0 }

// add takes a JSON string.
func (b *blocks) add(t message.BlockType, raw []byte) {
	if len(raw) <= 2 || raw[0] != '"' {
		return
	}
	b.open(t)
	b.tell(t, b.lane.add(raw))
}

// addText takes plain text.
func (b *blocks) addText(t message.BlockType, s string) {
	if s != "" {
		b.open(t)
		b.tell(t, b.lane.addText(s))
	}
}

// open makes the last block one of type t.
func (b *blocks) open(t message.BlockType) {
	if n := len(b.list); n > 0 && b.list[n-1].Type == t {
		return
	}
	b.end()
	b.list = append(b.list, message.Block{Type: t})
}

// end closes the last block.
func (b *blocks) end() {
	n := len(b.list)
	if n == 0 {
		return
	}
	b.tell(b.list[n-1].Type, b.lane.end())
	b.list[n-1].Text += string(b.lane.text)
	b.lane = lane{}
}

func (b *blocks) tell(t message.BlockType, s string) {
	if s == "" {
		return
	}
	kind := agent.DeltaText
	if t == message.Reasoning {
		kind = agent.DeltaReasoning
	}
	b.on(agent.Delta{Kind: kind, Text: s})
}

// The tags in which local models without a reasoning parser wrap their thoughts.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkTags moves a thought at the very beginning of the content, <think>…</think>, to
// where it belongs. Anywhere else the tag is text.
type thinkTags struct {
	state int // 0 at the beginning, 1 within the thought, 2 past it
	held  string
	lane  lane
}

func (t *thinkTags) add(b *blocks, raw []byte) {
	if t.state == 2 || t.state == 0 && t.held == "" && len(raw) > 2 && raw[1] != '<' && raw[1] != ' ' && raw[1] != '\\' {
		t.state = 2
		b.add(message.Text, raw)
		return
	}
	t.held += t.lane.add(raw)
	t.advance(b)
}

func (t *thinkTags) advance(b *blocks) {
	if t.state == 0 {
		s := strings.TrimLeft(t.held, " \n\r\t")
		switch {
		case strings.HasPrefix(s, thinkOpen):
			t.state, t.held = 1, s[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, s):
			return // not yet to be told
		default:
			t.past(b, t.held)
			return
		}
	}
	if i := strings.Index(t.held, thinkClose); i >= 0 {
		b.addText(message.Reasoning, t.held[:i])
		t.past(b, strings.TrimLeft(t.held[i+len(thinkClose):], "\n"))
		return
	}
	keep := partialSuffix(t.held, thinkClose)
	b.addText(message.Reasoning, t.held[:len(t.held)-keep])
	t.held = t.held[len(t.held)-keep:]
}

// past goes on with text.
func (t *thinkTags) past(b *blocks, s string) {
	t.state, t.held = 2, ""
	b.addText(message.Text, s)
	if len(t.lane.rest) > 0 || t.lane.high != 0 { // a rune was cut just here
		b.open(message.Text)
		b.lane.rest, b.lane.high = t.lane.rest, t.lane.high
	}
}

// end gives out what was held back.
func (t *thinkTags) end(b *blocks) {
	kind := message.Text
	if t.state == 1 {
		kind = message.Reasoning
	}
	if t.state != 2 {
		b.addText(kind, t.held+t.lane.end())
	}
	t.held = ""
}

// partialSuffix returns the length of the longest end of s with which word begins.
func partialSuffix(s, word string) int {
	for n := min(len(s), len(word)-1); n > 0; n-- {
		if strings.HasSuffix(s, word[:n]) {
			return n
		}
	}
	return 0
}

// quoteUnlessJSON returns data as a JSON value.
func quoteUnlessJSON(data []byte) []byte {
	if data = bytes.TrimSpace(data); len(data) > 0 && (data[0] == '{' || data[0] == '"') {
		return data
	}
	return appendString(nil, string(data))
}
