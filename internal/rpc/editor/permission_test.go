package editor

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
)

// TestCanAsk checks which clients can show questions. If a client cannot, a prompt must not wait
// for an answer.
func TestCanAsk(t *testing.T) {
	for _, c := range []struct {
		name, params string
		want         bool
	}{
		{"a plugin", `"capabilities":{"experimental":{"agentLsp":{"permission":true}}}`, true},
		{"an editor with messages", `"capabilities":{"window":{}}`, true},
		{"an editor that applies edits", `"capabilities":{"workspace":{"applyEdit":true}}`, true},
		{"an editor with code actions", `"capabilities":{"textDocument":{"codeAction":{}}}`, true},
		{"a client without any of this", `"capabilities":{}`, false},
		{"run without a terminal", `"clientInfo":{"name":"agent-lsp"},"capabilities":{
			"workspace":{"applyEdit":true},"experimental":{"agentLsp":{"permission":true}}}`, false},
		{"run with a terminal", `"clientInfo":{"name":"agent-lsp"},"capabilities":{
			"experimental":{"agentLsp":{"permission":true,"ask":true}}}`, true},
	} {
		link := &conn.Link{Client: conn.ClientFrom(conn.ObjectFrom([]byte("{" + c.params + "}")))}
		if got := NewPeer(link, nil).CanAsk(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
