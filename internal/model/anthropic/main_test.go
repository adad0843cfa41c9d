package anthropic_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// TestMain checks that nothing of a model runs after Close.
func TestMain(m *testing.M) {
	testspeed.Parallel(8) // what waits for a provider that stalls
	goleak.VerifyTestMain(m)
}
