package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// The shapes that a sound provider of the responses API sends.
const (
	itemText  = "event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","output_index":0,"delta":"Hello "}` + "\n\n"
	itemCall  = `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"read","arguments":""}}` + "\n\n" + `data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"pa"}` + "\n\n"
	itemRest  = `data: {"type":"response.output_text.delta","output_index":0,"delta":"world"}` + "\n\n"
	completed = "event: response.completed\n" + `data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":1,"output_tokens":2}}}` + "\n\n"
	document  = `{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hello world"}]}]}`
)

// responsesFaults are those of faults whose shape differs in the responses API, and a few of its own.
func responsesFaults() []fault {
	items := itemText + itemRest + completed
	return []fault{
		{name: "sound", serve: say(200, sse, items), text: "Hello world"},
		{name: "resets at once", serve: reset, kind: retry.Transient},
		{name: "stalls before the answer", serve: stall, kind: retry.StreamIdle},
		{name: "stalls in the text", serve: then(itemText, stall), kind: retry.StreamIdle},
		{name: "stalls in a call", serve: then(itemCall, stall), kind: retry.StreamIdle},
		{name: "stalls after its end", serve: then(items, stall), text: "Hello world"},
		{name: "chatters after its end", serve: then(items, repeat(": ping\n\n")), text: "Hello world"},
		{name: "resets in the text", serve: then(itemText, reset), kind: retry.Truncated},
		{name: "resets in a call", serve: then(itemCall, reset), kind: retry.Truncated},
		{name: "ends after the text", serve: say(200, sse, itemText), kind: retry.Truncated},
		{name: "ends in a call", serve: say(200, sse, itemCall), kind: retry.Truncated},
		{name: "only a chat API's end mark", serve: say(200, sse, itemText+done), kind: retry.Truncated},
		{name: "ends in mid-JSON", serve: say(200, sse, itemText+`data: {"type":"response.out`), kind: retry.Truncated},
		{name: "ends in mid-UTF-8", serve: say(200, sse, itemText+"data: {\"type\":\"response.output_text.delta\",\"delta\":\"\xe2\x82"), kind: retry.Truncated},
		{name: "trickles", serve: slowly(items), text: "Hello world"},
		{name: "comments without end", serve: then("", repeat(": x\n\n")), kind: retry.StreamIdle},
		{name: "unknown events", serve: say(200, sse, `data: {"type":"response.something.new","x":1}`+"\n\n"+items), text: "Hello world"},
		{name: "JSON in place of a stream", serve: say(200, "application/json", document), text: "Hello world"},
		{name: "HTML", serve: say(200, "text/html", "<html>Sign in</html>"), kind: retry.Client},
		{name: "empty body", serve: say(200, sse, ""), kind: retry.Truncated},
		{name: "cancelled", serve: say(200, sse, itemText+`data: {"type":"response.completed","response":{"status":"cancelled"}}`+"\n\n"), kind: retry.Transient},
		{name: "404: no such API", serve: say(404, "text/plain", "404 page not found"), kind: retry.Client},
		{name: "429 Retry-After", serve: say(429, "application/json", `{"error":{"message":"slow down"}}`, "Retry-After", "9"), kind: retry.RateLimit, wait: 9 * time.Second},
		{name: "500", serve: say(500, "application/json", `{"error":{"message":"oops"}}`), kind: retry.Transient},
		{name: "529", serve: say(529, "application/json", `{"error":{"message":"Overloaded"}}`), kind: retry.Overloaded},
	}
}

// TestResponsesFaults covers issue 4's proof for the responses API: each fault is a typed outcome in bounded time,
// streamed or not, and the next call works.
func TestResponsesFaults(t *testing.T) {
	t.Parallel()
	for _, noStream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream %v", !noStream), func(t *testing.T) {
			t.Parallel()
			server, now := provider(t)
			patient := openai.Options{Options: modelhttp.Options{BaseURL: server.URL + "/v1", Model: "m", NoStream: noStream}, API: openai.APIResponses}
			hasty := patient
			hasty.IdleTimeout, hasty.FirstByteTimeout, hasty.EventTimeout = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
			slow, fast := openai.New(patient), openai.New(hasty)
			for _, f := range responsesFaults() {
				m := slow
				if f.kind == retry.StreamIdle {
					m = fast
				}
				now.Store(&f)
				checkFault(t, m, f, noStream)
			}
			_ = slow.Close()
			_ = fast.Close()
		})
	}
}

// TestResponsesAbort: a cancelled call returns at once with the cause in each phase, and the provider sees it.
func TestResponsesAbort(t *testing.T) {
	server, now := provider(t)
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m"}, API: openai.APIResponses})
	defer m.Close()
	for _, serve := range []func(http.ResponseWriter, *http.Request){stall, then(itemText, stall), then(itemCall, repeat(itemText))} {
		gone, begun := make(chan struct{}), make(chan struct{})
		now.Store(&fault{serve: func(w http.ResponseWriter, r *http.Request) {
			defer close(gone)
			close(begun)
			serve(w, r)
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		if _, err := m.Generate(ctx, user("hi"), nil); err != context.Canceled {
			t.Errorf("got %v", err)
		}
		<-gone
	}
}

// TestReasoningThatIsNotEncrypted: with nothing stored, OpenAI knows no reasoning item by its name alone; local servers
// take the thought itself.
func TestReasoningThatIsNotEncrypted(t *testing.T) {
	history := func() *agent.Request {
		m := &message.Message{Role: message.RoleAssistant, Model: "m", Content: []message.Block{
			{Type: message.Reasoning, Text: "Hm.", Opaque: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[]}`)}, {Type: message.Text, Text: "Yes."}}}
		return &agent.Request{Messages: append(user("hi").Messages, m, user("and").Messages[0])}
	}
	for base, want := range map[string]string{
		"https://api.openai.com/v1": ``, "https://llm.example.com/v1": ``, "http://127.0.0.1:8000/v1": `{"type":"reasoning","id":"rs_1","summary":[]},`,
	} {
		body, _ := send(t, openai.Options{Options: modelhttp.Options{BaseURL: base, Model: "m"}, API: openai.APIResponses}, history())
		has(t, base, body, "input", `[{"role":"user","content":"hi"},`+want+`{"role":"assistant","content":"Yes."},{"role":"user","content":"and"}]`)
	}
}

// TestMistralHasNoLevels: no level is sent to Mistral. A notice says so, unless the model does not
// think and need not.
func TestMistralHasNoLevels(t *testing.T) {
	for _, c := range []struct {
		model, level string
		notices      int
	}{
		{"mistral-large-latest", "high", 1}, {"mistral-large-latest", "off", 0},
		{"magistral-medium-latest", "off", 1}, {"magistral-medium-latest", "", 0},
	} {
		req := user("hi")
		req.Thinking.Level = c.level
		o := modelhttp.Options{BaseURL: "https://api.mistral.ai/v1", Model: c.model}
		body, reply := send(t, openai.Options{Options: o}, req)
		has(t, c.model, body, "reasoning_effort", "")
		if len(reply.Notices) != c.notices || len(reply.Lasting) != c.notices {
			t.Errorf("%s %s: notices %q", c.model, c.level, reply.Notices)
		}
	}
}

// TestEffortOfUnknownModels: a deployment with a name of its own gets the level that the user set; a model that is known
// to take none does not, and the user is told.
func TestEffortOfUnknownModels(t *testing.T) {
	for _, c := range []struct {
		model, level, chat, responses string
		notices                       int
	}{
		{"my-deployment", "high", `"high"`, `{"summary":"auto","effort":"high"}`, 0},
		{"my-deployment", "off", ``, ``, 0},
		{"my-deployment", "", ``, ``, 0},
		{"o3", "off", `"low"`, `{"summary":"auto","effort":"low"}`, 1},
		{"o3", "xhigh", `"high"`, `{"summary":"auto","effort":"high"}`, 1},
		{"o4-mini", "high", `"high"`, `{"summary":"auto","effort":"high"}`, 0},
		{"gpt-4.1", "high", ``, ``, 1},
		{"gpt-4.1", "off", ``, ``, 0},
		{"gpt-5.1", "off", `"none"`, `{"summary":"auto","effort":"none"}`, 0},
	} {
		for api, want := range map[string]string{openai.APIChat: c.chat, openai.APIResponses: c.responses} {
			req := user("hi")
			req.Thinking.Level = c.level
			body, reply := send(t, openai.Options{Options: modelhttp.Options{BaseURL: "https://x.openai.azure.com/openai/v1", Model: c.model}, API: api}, req)
			key := map[string]string{openai.APIChat: "reasoning_effort", openai.APIResponses: "reasoning"}[api]
			has(t, c.model+" "+c.level+" "+api, body, key, want)
			if len(reply.Notices) != c.notices {
				t.Errorf("%s %s %s: notices %q", c.model, c.level, api, reply.Notices)
			}
		}
	}
}
