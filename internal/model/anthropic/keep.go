package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// kept is a block that must be sent back to the API unchanged, in the form stored in
// message.Block.Opaque: a thinking block with its signature, a redacted one, or a block of an
// unknown kind. Other adapters ignore kept, and this adapter ignores all other forms.
type kept struct {
	Block json.RawMessage `json:"anthropic"`
	// Sum is a checksum that shows whether a thinking block was changed. If the session's store
	// removes a secret from the thinking, the block no longer matches its signature and the API
	// would refuse the request.
	Sum string `json:"sum,omitempty"`
}

// thought is a thinking block or a redacted thinking block.
type thought struct {
	Type      string  `json:"type"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
}

func (t *thought) sum() string {
	text := ""
	if t.Thinking != nil {
		text = *t.Thinking
	}
	h := sha256.New()
	for _, s := range []string{t.Type, text, t.Signature, t.Data} {
		_, _ = h.Write(append([]byte(s), 0))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// keepThought converts a thinking block to a block for the history. A block with
// neither a signature nor redacted data cannot be sent back.
func keepThought(t thought) message.Block {
	b := message.Block{Type: message.Reasoning}
	if t.Thinking != nil {
		b.Text = *t.Thinking
	}
	if t.Signature == "" && t.Data == "" {
		return b
	}
	if raw, err := json.Marshal(t); err == nil {
		b.Opaque, _ = json.Marshal(kept{Block: raw, Sum: t.sum()})
	}
	return b
}

// keepRaw converts a block of an unknown kind to a block for the history.
func keepRaw(raw json.RawMessage) message.Block {
	b := message.Block{Type: message.Reasoning}
	if json.Valid(raw) {
		b.Opaque, _ = json.Marshal(kept{Block: raw})
	}
	return b
}

// takeBack returns a kept block in the form that the API accepts. It returns nil if b does not
// contain a kept block or if the block was changed. thinks reports whether it is a thinking block.
func takeBack(b *message.Block) (raw []byte, thinks bool) {
	var k kept
	if b.Type != message.Reasoning || len(b.Opaque) == 0 || json.Unmarshal(b.Opaque, &k) != nil ||
		len(k.Block) == 0 {
		return nil, false
	}
	if k.Sum == "" {
		return k.Block, false
	}
	var t thought
	if json.Unmarshal(k.Block, &t) != nil || t.sum() != k.Sum {
		return nil, false
	}
	return k.Block, true
}
