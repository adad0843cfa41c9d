package anthropic_test

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/model/anthropic"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
)

func BenchmarkEncode1000Messages(b *testing.B) {
	m := anthropic.New(modelhttp.Options{
		Model: "m", Transport: modeltest.Discard{Body: stopped("end_turn")},
	})
	defer m.Close()
	req := &agent.Request{Messages: modeltest.Long(333), Tools: tools}
	for b.Loop() {
		if _, err := m.Generate(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}
