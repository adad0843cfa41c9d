package openai_test

import (
	"slices"
	"testing"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// TestEmbed checks that Embed returns one vector per text in the order of the texts, even if the
// answer has a different order. If a vector is missing from the answer, Embed returns an error.
func TestEmbed(t *testing.T) {
	server := modeltest.NewProvider(t)
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m"}})
	defer m.Close()
	server.Set(modeltest.Say(200, "application/json",
		`{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[1]},`+
			`{"index":7,"embedding":[9]}]}`))
	got, err := m.Embed(t.Context(), []string{"a", "b"})
	if err != nil || len(got) != 2 || !slices.Equal(got[0], []float32{1}) ||
		!slices.Equal(got[1], []float32{0, 2}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err = m.Embed(t.Context(), []string{"a", "b", "c"}); err == nil {
		t.Error("a missing vector is not an error")
	}
	server.Set(modeltest.Say(200, "application/json", `{"error":{"message":"no such model"}}`))
	if _, err = m.Embed(t.Context(), []string{"a"}); retry.As(err) == nil {
		t.Errorf("an error in the answer: %v", err)
	}
}
