package openai

import (
	"fmt"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// can contains the capabilities of the call's model.
type can struct {
	see, call    bool
	patch, shell bool // the request contains these native tools of the responses API
}

func (c *call) can() (can, error) {
	see, call, err := c.Abilities()
	return can{see: see, call: call}, err
}

// cacheKeyOf returns a key for the encoding of a message. The key contains everything on which the
// encoding depends.
func (c *call) cacheKeyOf(api string, k can) string {
	return fmt.Sprintf("%s/%s/%s/%v", api, c.m.dialect, c.Model, k)
}

// outputLimit returns the limit on the reply's tokens. 0 leaves it to the provider (see
// Dialect.derivesLimit).
func (c *call) outputLimit(info agent.ModelInfo) int {
	derived := 0
	known := info.ContextWindow > 0 || c.m.dialect == Anthropic
	if c.m.dialect.derivesLimit() && known {
		derived = modelhttp.DerivedOutput + c.anthropicBudget(modelhttp.DerivedOutput)
	}
	return c.OutputLimit(derived)
}
