package openai

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// ContextWindow returns the window of a model in tokens, 0 where the table does not know it.
func ContextWindow(model string) int { return lookup(model).Window }

// Settle waits for what the model does in the background.
func (m *Model) Settle() { m.background.Wait() }

// textOnly gathers the visible text and checks that each delta is UTF-8.
func textOnly(t *testing.T, b *strings.Builder) func(agent.Delta) {
	return func(d agent.Delta) {
		if !utf8.ValidString(d.Text) {
			t.Fatalf("delta %q", d.Text)
		}
		if d.Kind == agent.DeltaText {
			b.WriteString(d.Text)
		}
	}
}
