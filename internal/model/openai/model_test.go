package openai_test

import (
	"strings"
	"testing"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// play returns a model whose endpoint plays the given script lines.
func play(t *testing.T, opts openai.Options, lines ...string) *openai.Model {
	t.Helper()
	server := modeltest.Play(t, lines...)
	opts.BaseURL, opts.Model = server.URL(), "script"
	m := openai.New(opts)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// heard collects deltas.
type heard struct{ text, reasoning, input strings.Builder }

func (h *heard) on(d agent.Delta) {
	switch d.Kind {
	case agent.DeltaText:
		h.text.WriteString(d.Text)
	case agent.DeltaReasoning:
		h.reasoning.WriteString(d.Text)
	case agent.DeltaToolInput:
		h.input.WriteString(d.Text)
	}
}

func TestScriptedReplyStreamedAndWhole(t *testing.T) {
	const line = `{"reasoning":"think ☃","text":"Hello wörld","toolCalls":[{"name":"read",` +
		`"arguments":{"path":"a.go"}},{"name":"read","arguments":{"path":"b.go"}}],"chunks":4,` +
		`"usage":{"input":10,"output":5,"cached":4}}`
	for _, noStream := range []bool{false, true} {
		m := play(t, openai.Options{Options: modelhttp.Options{NoStream: noStream}}, line)
		var h heard
		reply, err := m.Generate(t.Context(), modeltest.User("hi"), h.on)
		if err != nil {
			t.Fatal(err)
		}
		calls := reply.Message.ToolCalls()
		if got := reply.Message.TextContent(); got != "Hello wörld" || h.text.String() != got {
			t.Errorf("noStream %v: text %q, heard %q", noStream, got, h.text.String())
		}
		if h.reasoning.String() != "think ☃" || reply.Message.Content[0].Text != "think ☃" {
			t.Errorf("noStream %v: reasoning %q", noStream, h.reasoning.String())
		}
		if len(calls) != 2 || string(calls[1].Args) != `{"path":"b.go"}` ||
			calls[0].ID != "call_1_1" || reply.Message.Stop != message.StopToolUse {
			t.Errorf("noStream %v: calls %+v, stop %s", noStream, calls, reply.Message.Stop)
		}
		if u := reply.Message.Usage; u == nil || u.Input != 10 || u.Cached != 4 || u.Total != 15 {
			t.Errorf("noStream %v: usage %+v", noStream, u)
		}
	}
}

func TestScriptFailures(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       retry.Kind
	}{
		{"mismatch", `{"expect":{"lastUser":"^bye$"},"text":"x"}`, retry.Script},
		{"run out", ``, retry.Script},
		{"rate limit", `{"error":{"status":429,"code":"rate_limit_exceeded","message":"slow",` +
			`"retryAfter":7}}`, retry.RateLimit},
		{"overloaded", `{"error":{"status":529,"message":"busy"}}`, retry.Overloaded},
		{"in the stream", `{"text":"half","error":{"status":503,"message":"gone"}}`,
			retry.Overloaded},
		{"drop", `{"text":"half","drop":true}`, retry.Truncated},
		{"auth", `{"error":{"status":401,"message":"who"}}`, retry.Auth},
	} {
		for _, noStream := range []bool{false, true} {
			m := play(t, openai.Options{Options: modelhttp.Options{NoStream: noStream}}, c.line)
			_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
			e := retry.As(err)
			if e == nil || e.Kind != c.want {
				t.Errorf("%s, noStream %v: got %v, want kind %s", c.name, noStream, err, c.want)
			}
			if c.name == "rate limit" && e != nil && e.RetryAfter.Seconds() != 7 {
				t.Errorf("retry after %v", e.RetryAfter)
			}
		}
	}
}

func TestModelList(t *testing.T) {
	m := play(t, openai.Options{}, `{"text":"x"}`)
	list, err := m.Models(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "script" {
		t.Fatalf("got %v, %v", list, err)
	}
}

// TestOptionsPrecedeTheList checks that a model's options take precedence over the endpoint's model
// list.
func TestOptionsPrecedeTheList(t *testing.T) {
	modeltest.CheckListed(t, chatAPI, `{"data":[{"id":"m","context_length":1000,`+
		`"architecture":{"input_modalities":["text"]},"supported_parameters":["temperature"]}]}`)
}
