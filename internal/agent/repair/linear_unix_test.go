//go:build unix && !race

package repair_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// processorTime returns the processor time that this process has used. Unlike elapsed time, it does
// not depend on other processes.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestMegabyte checks the processor time that is needed for 1 MB of each hostile text. The target
// is 50 ms. The limit in this test is higher, to allow for slow machines. The test takes the best
// of up to three runs. It is not built with the race detector.
func TestMegabyte(t *testing.T) {
	const wanted, bound = 50 * time.Millisecond, 500 * time.Millisecond
	parts := map[string]func(string){
		"ParseCalls": func(s string) { repair.ParseCalls(s, []string{"read", "write"}) },
		"JSON":       func(s string) { repair.JSON(s) },
		"StripANSI":  func(s string) { repair.StripANSI(s) },
	}
	for kind, text := range worst(testspeed.Size(1 << 20)) {
		for name, run := range parts {
			var took []time.Duration
			for len(took) < 3 && (len(took) == 0 || slices.Min(took) > wanted) {
				begin := processorTime(t)
				run(text)
				took = append(took, processorTime(t)-begin)
			}
			best := slices.Min(took)
			if best > bound {
				t.Errorf("%s of 1 MB %s takes %v", name, kind, best)
			} else if best > 20*time.Millisecond {
				t.Logf("%s of 1 MB %s: %v", name, kind, best)
			}
		}
	}
}
