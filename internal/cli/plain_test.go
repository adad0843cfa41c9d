package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
)

// editorOf starts the program in-process and an editor with the given capabilities.
func editorOf(b *testing.B, capabilities string) (e *rpctest.Editor, end func()) {
	url, came := provider(b)
	go func() {
		for range came {
		}
	}()
	env := []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=k",
		"OPENAI_BASE_URL=" + url, "OPENAI_MODEL=m"}
	d := startInProcess(b, []string{"serve", "--state-dir", filepath.Join(b.TempDir(), "state")},
		env)
	e = rpctest.NewEditor(d.Stdout, d.Stdin)
	params := map[string]any{"rootUri": rpctest.URIOf(b.TempDir()),
		"capabilities": json.RawMessage(capabilities)}
	if err := e.Call("initialize", params, nil); err != nil {
		b.Fatal(err)
	}
	return e, func() {
		_ = e.CloseStdin()
		d.Wait()
	}
}

// turnBy returns a function that runs a turn with one request. The function returns the time from
// the request to the message that reports the end of the turn.
func turnBy(b *testing.B, e *rpctest.Editor, method string, params any,
	ended string) func() time.Duration {
	at := 0
	return func() time.Duration {
		began := time.Now()
		if err := e.Call(method, params, nil); err != nil {
			b.Fatal(err)
		}
		_, next, err := e.Next(at, ended, "", true)
		if err != nil {
			b.Fatal(err)
		}
		at = next
		return time.Since(began)
	}
}

// BenchmarkFrontEnds measures a turn from its prompt to its end over agent/* and over plain LSP,
// alternately in one run. The target is that plain LSP takes at most 5 % longer.
func BenchmarkFrontEnds(b *testing.B) {
	rich, endRich := editorOf(b, `{"experimental": {"agentLsp": {"version": 1}}}`)
	defer endRich()
	plain, endPlain := editorOf(b,
		`{"window": {"workDoneProgress": true}, "textDocument": {"codeAction": {}}}`)
	defer endPlain()
	byAgent := turnBy(b, rich, "agent/prompt", map[string]any{"prompt": "hello"},
		"agent/turn/completed")
	command := map[string]any{"command": "agent.prompt",
		"arguments": []any{map[string]any{"text": "hello"}}}
	byPlain := turnBy(b, plain, "workspace/executeCommand", command, "window/showMessage")
	var agent, lsp []time.Duration
	for b.Loop() {
		agent, lsp = append(agent, byAgent()), append(lsp, byPlain())
	}
	slices.Sort(agent)
	slices.Sort(lsp)
	b.ReportMetric(float64(agent[len(agent)/2].Microseconds()), "µs-agent/turn")
	b.ReportMetric(float64(lsp[len(lsp)/2].Microseconds()), "µs-plain/turn")
	b.ReportMetric(float64(lsp[len(lsp)/2])/float64(agent[len(agent)/2]), "plain/agent")
}
