package wire_test

import (
	"os"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/rpc/schema"
)

// TestClientTypes checks that the clients' types match the structs in this package. `make generate`
// writes the types.
func TestClientTypes(t *testing.T) {
	s, err := schema.Load()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"../../../editors/neovim/lua/agent_lsp/protocol.lua": s.Lua(),
		"../../../editors/vscode/src/protocol.ts":            s.TypeScript(),
	} {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is out of date: run make generate", path)
		}
	}
}
