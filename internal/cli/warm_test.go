package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// warmPrompt is the maximum time, in a warm session, from a prompt until the model receives the
// request.
const warmPrompt = 1500 * time.Microsecond

// warmReplies contains, for each API, the path to which prompts are sent and the events of a reply.
var warmReplies = map[string]struct {
	path   string
	events []string
}{
	"chat": {"/chat/completions", []string{
		`{"choices":[{"delta":{"content":"ok"}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `[DONE]`}},
	"responses": {"/responses", []string{
		`{"type":"response.output_text.delta","output_index":0,"delta":"ok"}`,
		`{"type":"response.completed","response":{"status":"completed","output":[]}}`}},
	"anthropic": {"/messages", []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"ok"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`,
		`{"type":"message_stop"}`}},
	"gemini": {":streamGenerateContent", []string{
		`{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`}},
}

// warmSession starts a program that uses an API. It returns a function that runs a turn and returns
// the time from the prompt to the request.
func warmSession(t testing.TB, api string) (turn func() time.Duration) {
	came := make(chan time.Time, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, warmReplies[api].path) {
			fmt.Fprint(w, `{"data":[{"id":"m"}],"models":[]}`)
			return
		}
		came <- time.Now()
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range warmReplies[api].events {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
	}))
	t.Cleanup(srv.Close)
	d := startInProcess(t, []string{"serve", "--state-dir", filepath.Join(t.TempDir(), "state")},
		[]string{"HOME=" + t.TempDir(), "KEY=k"})
	t.Cleanup(func() {
		d.Stdin.Close()
		d.Wait()
	})
	c := connect(t.Context(), d.Stdout, d.Stdin, &client{notify: func(string, json.RawMessage) {}})
	call := func(method string, params, result any) {
		if err := c.call(t.Context(), method, params, result); err != nil {
			t.Fatal(err)
		}
	}
	options := map[string]any{"model": "m", "provider": map[string]any{
		"api": api, "baseUrl": srv.URL, "apiKeyEnv": "KEY"}}
	if err := c.initialize(t.Context(), t.TempDir(), options, false, false); err != nil {
		t.Fatal(err)
	}
	var session struct {
		SessionID string `json:"sessionId"`
	}
	call("agent/session/new", map[string]any{}, &session)
	return func() time.Duration {
		var prompt struct {
			MessageID string `json:"messageId"`
		}
		began := time.Now()
		call("agent/prompt", map[string]any{"sessionId": session.SessionID, "prompt": "hello"},
			&prompt)
		took := (<-came).Sub(began)
		var end struct {
			Status string `json:"status"`
		}
		call("agent/turn/wait", map[string]any{"sessionId": session.SessionID,
			"messageId": prompt.MessageID}, &end)
		if end.Status != "completed" {
			t.Fatalf("%s: the turn is %+v", api, end)
		}
		return took
	}
}

// BenchmarkWarmPrompt measures the median time from a prompt in a warm session until the model
// receives the request, for each API. It fails if the median exceeds the target, even in the single
// iteration of `make bench-smoke`.
func BenchmarkWarmPrompt(b *testing.B) {
	for api := range warmReplies {
		b.Run(api, func(b *testing.B) {
			turn := warmSession(b, api)
			for range 20 {
				turn()
			}
			var took []time.Duration
			for b.Loop() {
				took = append(took, turn())
			}
			for len(took) < 100 {
				took = append(took, turn())
			}
			m := median(took)
			b.ReportMetric(float64(m.Microseconds()), "µs-to-request")
			if m > warmPrompt {
				b.Errorf("%s: %v from the prompt to the request, at most %v", api, m, warmPrompt)
			}
		})
	}
}
