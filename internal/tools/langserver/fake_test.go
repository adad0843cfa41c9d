package langserver

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
	"github.com/agent-lsp/agent-lsp/internal/tools/langserver/langservertest"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

func TestMain(m *testing.M) {
	shell.MaybeHelper()
	langservertest.MaybeServe()
	testspeed.Parallel(8) // tests with real servers mostly wait
	goleak.VerifyTestMain(m)
}
