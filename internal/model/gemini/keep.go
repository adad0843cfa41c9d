package gemini

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// kept is the data that must be sent back to the API with a part, in the form stored in
// message.Block.Opaque. Other adapters ignore kept, and this adapter ignores all other forms.
type kept struct {
	Signature string `json:"geminiSignature"`
}

// dummySignature replaces a missing signature, for example of a call that another model made.
// Google documents this value for this purpose. Models from version 3 on refuse a call without a
// signature.
const dummySignature = "skip_thought_signature_validator"

// keep stores the signature of a part with its block.
func keep(b *message.Block, signature string) {
	if signature != "" {
		b.Opaque, _ = json.Marshal(kept{signature})
	}
}

// signatureOf returns the signature of a block, or "" if it does not have one.
func signatureOf(b *message.Block) string {
	var k kept
	if len(b.Opaque) == 0 || json.Unmarshal(b.Opaque, &k) != nil {
		return ""
	}
	return k.Signature
}
