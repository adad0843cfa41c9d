package gemini

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// kept is what the API requires back with a part, as it is stored in message.Block.Opaque. Other
// adapters do not recognize it, and this one recognizes nothing else.
type kept struct {
	Signature string `json:"geminiSignature"`
}

// dummySignature stands for the signature of a call that another model made. It is the value that
// Google documents for this case. Models from version 3 on refuse a call without a signature.
const dummySignature = "skip_thought_signature_validator"

// keep stores the signature of a part with its block.
func keep(b *message.Block, signature string) {
	if signature != "" {
		b.Opaque, _ = json.Marshal(kept{signature})
	}
}

// signatureOf returns the signature of a block, "" without one.
func signatureOf(b *message.Block) string {
	var k kept
	if len(b.Opaque) == 0 || json.Unmarshal(b.Opaque, &k) != nil {
		return ""
	}
	return k.Signature
}
