package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp/mcptest"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

func benchHub(b *testing.B, n int) *world {
	b.Helper()
	runner, err := shell.New(shell.Options{SpillDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	w := &world{hub: New(Options{Runner: runner})}
	b.Cleanup(func() { w.hub.Close(); runner.Close() })
	var confs []Config
	for i := range n {
		confs = append(confs, Config{Name: fmt.Sprintf("s%d", i), Command: os.Args[0],
			Env: append(os.Environ(), mcptest.Variable+"=plain")})
	}
	w.hub.Configure(confs)
	if err := w.hub.settle(b.Context()); err != nil {
		b.Fatal(err)
	}
	return w
}

func benchCall(b *testing.B, w *world, args string, size int) {
	tl := w.hub.Tools()[0]
	for b.Loop() {
		res, err := agenttest.Run(b.Context(), tl, &tool.Call{Args: json.RawMessage(args)})
		if err != nil || len(res.Text) != size {
			b.Fatalf("%v", err)
		}
	}
}

// BenchmarkMCPCall measures a call of a tool that does nothing, over pipes to a process. The result
// is the overhead of a call, including the server's own time. The target is less than 1 ms.
func BenchmarkMCPCall(b *testing.B) { benchCall(b, benchHub(b, 1), `{"text":"hello"}`, 5) }

// BenchmarkMCPBigResult measures a call with a result of 50 MB.
func BenchmarkMCPBigResult(b *testing.B) {
	const size = 50_000_000
	benchCall(b, benchHub(b, 1), fmt.Sprintf(`{"text":"big %d"}`, size), size)
}

// BenchmarkMCPConfigure measures how long a prompt is delayed if ten servers are configured.
func BenchmarkMCPConfigure(b *testing.B) {
	runner, err := shell.New(shell.Options{SpillDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer runner.Close()
	for b.Loop() {
		b.StopTimer()
		h := New(Options{Runner: runner})
		var confs []Config
		for i := range 10 {
			confs = append(confs, Config{Name: fmt.Sprintf("s%d", i), Command: os.Args[0],
				Env: append(os.Environ(), mcptest.Variable+"=hang")})
		}
		b.StartTimer()
		began := time.Now()
		h.Configure(confs)
		_ = h.Tools()
		if d := time.Since(began); d > 15*time.Second { // the servers never answer
			b.Errorf("configuring ten servers took %v", d)
		}
		b.StopTimer()
		h.Close()
		b.StartTimer()
	}
}
