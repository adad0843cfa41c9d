package gemini_test

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
)

func TestMain(m *testing.M) { modeltest.Main(m) }
