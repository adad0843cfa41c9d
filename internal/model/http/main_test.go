package modelhttp

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// TestMain holds every model to its word: after Close nothing of it runs.
func TestMain(m *testing.M) {
	testspeed.Parallel(8) // what waits for a provider that stalls
	goleak.VerifyTestMain(m)
}
