package lsp

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
	"github.com/agent-lsp/agent-lsp/internal/tools/lsp/lsptest"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

func TestMain(m *testing.M) {
	shell.MaybeHelper()
	lsptest.MaybeServe()
	testspeed.Parallel(8) // the tests of real servers mostly wait
	goleak.VerifyTestMain(m)
}
