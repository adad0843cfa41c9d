package shell

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/environ"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// hiddenVar makes the test process hide its memory, as the daemon does.
const hiddenVar = "AGENT_LSP_TEST_HIDDEN"

func TestMain(m *testing.M) {
	MaybeHelper()
	maybeDaemon()
	maybeProbe()
	if os.Getenv(hiddenVar) != "" {
		if err := environ.Hide(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	testspeed.Parallel(12) // parallel tests mostly wait for processes to exit
	goleak.VerifyTestMain(m)
}
