package subagent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// BenchmarkParallel compares a call with one task and a call with eight tasks, with a model that
// answers immediately. Four tasks run at a time. The target is that eight tasks take at most three
// times as long as one.
func BenchmarkParallel(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			s := setup()
			args := `{"tasks":[` + strings.TrimSuffix(strings.Repeat(`{"task":"hello"},`, n), ",") +
				`]}`
			for b.Loop() {
				res, err := agenttest.Run(b.Context(), s.tool,
					&tool.Call{ItemID: "i", Args: json.RawMessage(args)})
				if err != nil || res.IsError {
					b.Fatal(res, err)
				}
			}
		})
	}
}
