package langserver

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// BenchmarkThroughEditor measures a query that the editor answers immediately. The result is the
// time that the tool adds to the editor's own time, without the time on the wire. The target is
// less than 5 ms.
func BenchmarkThroughEditor(b *testing.B) {
	var h *harness
	o := Options{Query: func(context.Context, Question) (json.RawMessage, error) {
		at := `{"uri":"` + string(uri.File(filepath.Join(h.root, "a.fk"))) +
			`","range":{"start":{"line":0,"character":5},"end":{"line":0,"character":8}}}`
		return json.RawMessage("[" + at + "," + at + "]"), nil
	}}
	h = newHarness(b, o, sample...)
	references := h.hub.Tools(nil)[0]
	call := &tool.Call{SessionID: "s", Cwd: h.root,
		Args: json.RawMessage(`{"operation":"references","path":"b.fk","line":1,"column":6}`)}
	for b.Loop() {
		if _, err := agenttest.Run(b.Context(), references, call); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAfterEdit measures how long an edit waits for a server that publishes diagnostics
// immediately.
func BenchmarkAfterEdit(b *testing.B) {
	h := newHarness(b, fake(b, "normal"), sample...)
	h.lsp("diagnostics", object{"path": "a.fk"})
	texts := []string{"func one\nfunc two\n\n", "func one\nfunc two\n"}
	for i := 0; b.Loop(); i++ {
		h.edit("a.fk", texts[i%2])
	}
}
