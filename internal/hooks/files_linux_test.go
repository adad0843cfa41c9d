package hooks

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// TestHookLeavesNoFileOpen checks that a hook closes its pipes. Hooks run for every tool call, so
// pipes that only the garbage collector closes would soon accumulate.
func TestHookLeavesNoFileOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	h := hook(t, BeforeRun, `exit 0`).(agent.RunHook)
	open := func() int {
		if err := h.BeforeRun(t.Context(), "t1"); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := open()
	for range 7 {
		open()
	}
	if after := open(); after > before+4 {
		t.Errorf("%d files are open, %d before", after, before)
	}
}
