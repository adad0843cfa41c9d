package modelhttp

import (
	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Blocks collects the text, reasoning and refusals of a reply in the order of their arrival and
// reports each piece. A change of kind starts a new block.
type Blocks struct {
	on    func(agent.Delta)
	meter *Meter
	List  []message.Block
	last  Joiner // text of the last block
}

// NewBlocks returns a Blocks that counts bytes in meter and passes each piece to the given
// function.
func NewBlocks(on func(agent.Delta), meter *Meter) Blocks { return Blocks{on: on, meter: meter} }

// Empty reports whether there is no block yet.
func (b *Blocks) Empty() bool { return len(b.List) == 0 }

// Add adds a JSON string.
func (b *Blocks) Add(t message.BlockType, raw []byte) {
	if len(raw) <= 2 || raw[0] != '"' {
		return
	}
	b.Open(t)
	b.tell(t, b.last.Add(raw))
}

// AddText adds plain text.
func (b *Blocks) AddText(t message.BlockType, s string) {
	if s != "" {
		b.Open(t)
		b.tell(t, b.last.AddText(s))
	}
}

// Open makes sure that the last block has type t. It starts a new block if necessary.
func (b *Blocks) Open(t message.BlockType) {
	if n := len(b.List); n > 0 && b.List[n-1].Type == t {
		return
	}
	b.End()
	b.meter.Add(BlockSize)
	b.List = append(b.List, message.Block{Type: t})
}

// End closes the last block.
func (b *Blocks) End() {
	n := len(b.List)
	if n == 0 {
		return
	}
	b.tell(b.List[n-1].Type, b.last.End())
	b.List[n-1].Text += string(b.last.Text)
	b.last = Joiner{}
}

func (b *Blocks) tell(t message.BlockType, s string) {
	if s == "" {
		return
	}
	kind := agent.DeltaText
	if t == message.Reasoning {
		kind = agent.DeltaReasoning
	}
	b.on(agent.Delta{Kind: kind, Text: s})
}

// Continue moves the unfinished rune in j to the beginning of the next piece of a block of type t.
func (b *Blocks) Continue(t message.BlockType, j *Joiner) {
	if len(j.rest) > 0 || j.high != 0 {
		b.Open(t)
		b.last.rest, b.last.high = j.rest, j.high
	}
}
