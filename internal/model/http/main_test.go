package modelhttp

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// TestMain checks that nothing of a model runs after Close.
func TestMain(m *testing.M) {
	testspeed.Parallel(8) // the tests mostly wait for a stalled provider
	goleak.VerifyTestMain(m)
}
