package modelhttp

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// TestMain checks that no goroutine of a model is left after Close.
func TestMain(m *testing.M) {
	testspeed.Parallel(8) // most tests wait for a stalled provider
	goleak.VerifyTestMain(m)
}
