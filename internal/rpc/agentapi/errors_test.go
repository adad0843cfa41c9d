package agentapi

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// Errors about invalid params name the field and use JSON terms.
func TestWrongParamsAreNamed(t *testing.T) {
	const prompt = "prompt: must be a string or an array of content blocks"
	for params, want := range map[string]string{
		`{"prompt":5}`:                    prompt,
		`{"prompt":[5]}`:                  prompt,
		`{"prompt":"x","pin":"yes"}`:      "pin: must be a boolean, got a string",
		`{"prompt":"x","sessionId":[]}`:   "sessionId: must be a string, got an array",
		`{"prompt":"x","context":"a.go"}`: "context: must be an object, got a string",
		`[]`:                              "params: must be an object",
	} {
		if err := DecodeParams([]byte(params), new(wire.PromptParams)); err == nil ||
			err.Error() != want {
			t.Errorf("%s: %v, want %s", params, err, want)
		}
	}
}
