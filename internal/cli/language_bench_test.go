package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
)

// BenchmarkEditorQuery measures a turn with language queries that an editor answers immediately,
// over the wire. ms/question is the time of a call. ms/step also includes the model's reply and the
// events. The target is at most 5 ms in addition to the time that the editor needs.
func BenchmarkEditorQuery(b *testing.B) {
	const questions = 20
	var step atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		reply := `"delta":{"role":"assistant","content":"ok"},"finish_reason":"stop"`
		switch n := step.Add(1) - 1; {
		case n == 0:
			reply = callOf("tool_search", `{"query":"select:lsp"}`)
		case n <= questions:
			reply = callOf("lsp", `{"operation":"references","path":"a.txt","line":1,"column":1}`)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,%s}]}\n\ndata: [DONE]\n\n", reply)
	}))
	b.Cleanup(provider.Close)
	home := b.TempDir()
	if err := os.WriteFile(filepath.Join(home, "a.txt"), []byte("one\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	d := startInProcess(b, []string{"serve", "--whole-folder"},
		[]string{"HOME=" + home, "USERPROFILE=" + home, "XDG_STATE_HOME=" + home,
			"XDG_CONFIG_HOME=" + home, "PATH=" + os.Getenv("PATH"),
			"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + provider.URL, "OPENAI_MODEL=m"})
	r := &reach{t: b, ed: rpctest.NewEditor(d.Stdout, d.Stdin)}
	b.Cleanup(func() { _ = r.ed.CloseStdin(); d.Wait() })
	r.call("initialize", map[string]any{"rootUri": rpctest.URIOf(home),
		"capabilities": map[string]any{"experimental": map[string]any{
			"agentLsp": map[string]any{"version": 1, "editor": map[string]any{"query": true}}}}},
		nil)
	_ = r.ed.Notify("initialized", map[string]any{})
	r.ed.Auto("agent/editor/query",
		json.RawMessage(`[{"uri":"`+rpctest.URIOf(home)+
			`/a.txt","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":3}}}]`))
	steps, asked, spent := 0, 0, 0.0
	for b.Loop() {
		step.Store(0)
		from := len(r.ed.Log(0))
		r.turn("look")
		n, ms := questionsIn(b, r.ed.Log(from))
		steps, asked, spent = steps+questions+2, asked+n, spent+ms
	}
	if asked != steps/(questions+2)*questions {
		b.Fatalf("%d questions were answered", asked)
	}
	b.ReportMetric(spent/float64(asked), "ms/question")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(steps), "ms/step")
}

func callOf(name, args string) string {
	return `"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function",` +
		`"function":{"name":"` + name + `","arguments":` + strconv.Quote(args) + `}}]},` +
		`"finish_reason":"tool_calls"`
}

// questionsIn returns the number of completed lsp calls and their total time in milliseconds.
func questionsIn(b *testing.B, log []*rpctest.Message) (n int, ms float64) {
	b.Helper()
	for _, m := range log {
		var p struct {
			Item struct {
				Name       string
				Result     string
				IsError    bool
				DurationMs float64
			}
		}
		if m.Method == "agent/item/completed" && json.Unmarshal(m.Params, &p) == nil &&
			p.Item.Name == "lsp" {
			if p.Item.IsError {
				b.Fatal(p.Item.Result)
			}
			n++
			ms += p.Item.DurationMs
		}
	}
	return n, ms
}
