package shell

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

func TestMain(m *testing.M) {
	MaybeHelper()
	maybeDaemon()
	maybeProbe()
	testspeed.Parallel(12) // the parallel tests mostly wait for processes to end
	goleak.VerifyTestMain(m)
}
