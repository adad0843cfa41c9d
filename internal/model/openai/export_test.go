package openai

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// ContextWindow returns a model's context window in tokens, or 0 if the catalog does not know the
// model.
func ContextWindow(model string) int { return catalog.Lookup("", model).Window }

// textOnly returns a function that collects visible text and checks that each delta is valid UTF-8.
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

// SuperfluousEfforts returns the models in efforts whose levels are the same in the catalog.
func SuperfluousEfforts() (ids []string) {
	for id, levels := range efforts {
		if slices.Equal(levels, catalog.Lookup("openai", id).Levels) {
			ids = append(ids, id)
		}
	}
	return ids
}
