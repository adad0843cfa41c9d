package openai_test

import (
	"encoding/json"
	"testing"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// Pieces of the stream that a working provider of the responses API sends.
const (
	itemText = "event: response.output_text.delta\n" +
		`data: {"type":"response.output_text.delta","output_index":0,"delta":"Hello "}` + "\n\n"
	itemCall = `data: {"type":"response.output_item.added","output_index":0,"item":{` +
		`"type":"function_call","call_id":"c1","name":"read","arguments":""}` +
		`}` + "\n\n" + `data: {"type":"response.function_call_arguments.delta","output_index":0,` +
		`"delta":"{\"pa"}` + "\n\n"
	itemRest = `data: {"type":"response.output_text.delta","output_index":0,"delta":"world"}` +
		"\n\n"
	completed = "event: response.completed\n" +
		`data: {"type":"response.completed","response":{"status":"completed","usage":{` +
		`"input_tokens":1,"output_tokens":2}}}` + "\n\n"
	document = `{"object":"response","status":"completed","output":[{"type":"message",` +
		`"content":[{"type":"output_text","text":"Hello world"}]}]}`
)

// responsesAPI describes the responses API for the fault tests.
var responsesAPI = &modeltest.API{
	New: func(o modelhttp.Options) modeltest.Model {
		return openai.New(openai.Options{Options: o, API: openai.APIResponses})
	},
	Text: itemText, Rest: itemRest, End: completed, Call: itemCall, Whole: document,
	More: []modeltest.Fault{
		{Name: "only a chat API's end mark", Serve: modeltest.Say(200, sse, itemText+done),
			Kind: retry.Truncated},
		{Name: "unknown events", Serve: modeltest.Say(200, sse,
			`data: {"type":"response.something.new","x":1}`+"\n\n"+itemText+itemRest+completed),
			Text: "Hello world"},
		{Name: "cancelled", Serve: modeltest.Say(200, sse, itemText+
			`data: {"type":"response.completed","response":{"status":"cancelled"}}`+"\n\n"),
			Kind: retry.Transient},
	},
}

// TestResponsesFaults checks that each fault of the responses API has a typed outcome in bounded
// time.
func TestResponsesFaults(t *testing.T) {
	t.Parallel()
	modeltest.CheckFaults(t, responsesAPI)
}

// TestResponsesPhases checks each fault in the phases of a turn to which it applies.
func TestResponsesPhases(t *testing.T) {
	t.Parallel()
	modeltest.CheckPhases(t, responsesAPI)
}

// TestResponsesAbort checks that a canceled call of the responses API returns immediately (protocol
// 3.3).
func TestResponsesAbort(t *testing.T) { modeltest.CheckAbort(t, responsesAPI) }

// TestReasoningThatIsNotEncrypted checks that a reasoning item without encrypted content is sent
// only to local servers, which accept the reasoning text itself. Other providers, such as OpenAI,
// cannot find the item by its ID, because nothing is stored there.
func TestReasoningThatIsNotEncrypted(t *testing.T) {
	history := func() *agent.Request {
		m := &message.Message{Role: message.RoleAssistant, Model: "m", Content: []message.Block{
			{Type: message.Reasoning, Text: "Hm.",
				Opaque: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[]}`)},
			{Type: message.Text, Text: "Yes."}}}
		return &agent.Request{Messages: append(modeltest.User("hi").Messages, m,
			modeltest.User("and").Messages[0])}
	}
	for base, want := range map[string]string{
		"https://api.openai.com/v1": ``, "https://llm.example.com/v1": ``,
		"http://127.0.0.1:8000/v1": `{"type":"reasoning","id":"rs_1","summary":[]},`,
	} {
		body, _ := send(t, openai.Options{Options: modelhttp.Options{BaseURL: base, Model: "m"},
			API: openai.APIResponses}, history())
		modeltest.Has(t, base, body, "input", `[{"role":"user","content":"hi"},`+want+
			`{"role":"assistant","content":"Yes."},{"role":"user","content":"and"}]`)
	}
}

// TestMistralHasNoLevels checks that no thinking level is sent to Mistral. A notice reports this,
// unless the level agrees with what the model does anyway.
func TestMistralHasNoLevels(t *testing.T) {
	for _, c := range []struct {
		model, level string
		notices      int
	}{
		{"mistral-large-latest", "high", 1}, {"mistral-large-latest", "off", 0},
		{"magistral-medium-latest", "off", 1}, {"magistral-medium-latest", "", 0},
	} {
		req := modeltest.User("hi")
		req.Thinking.Level = c.level
		o := modelhttp.Options{BaseURL: "https://api.mistral.ai/v1", Model: c.model}
		body, reply := send(t, openai.Options{Options: o}, req)
		modeltest.Has(t, c.model, body, "reasoning_effort", "")
		if len(reply.Notices) != c.notices || len(reply.Lasting) != c.notices {
			t.Errorf("%s %s: notices %q", c.model, c.level, reply.Notices)
		}
	}
}

// TestEffortOfUnknownModels checks that a deployment with an unknown name receives the level that
// the user set. A model that is known not to support a level does not receive it, and the user is
// notified.
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
		{"gpt-5", "off", `"minimal"`, `{"summary":"auto","effort":"minimal"}`, 1},
		{"gpt-5-mini-1", "minimal", `"minimal"`, `{"summary":"auto","effort":"minimal"}`, 0},
		{"gpt-5", "xhigh", `"high"`, `{"summary":"auto","effort":"high"}`, 1},
		{"gpt-5-codex", "minimal", `"low"`, `{"summary":"auto","effort":"low"}`, 1},
		{"gpt-5-pro", "low", `"high"`, `{"summary":"auto","effort":"high"}`, 1},
		{"gpt-5.1", "minimal", `"low"`, `{"summary":"auto","effort":"low"}`, 1},
		{"gpt-5.1", "xhigh", `"high"`, `{"summary":"auto","effort":"high"}`, 1},
		{"gpt-5.1-codex-max", "xhigh", `"xhigh"`, `{"summary":"auto","effort":"xhigh"}`, 0},
		{"gpt-5.2", "xhigh", `"xhigh"`, `{"summary":"auto","effort":"xhigh"}`, 0},
		{"gpt-5.6-sol", "minimal", `"low"`, `{"summary":"auto","effort":"low"}`, 1},
		{"gpt-5.1", "off", `"none"`, `{"summary":"auto","effort":"none"}`, 0},
	} {
		for api, want := range map[string]string{openai.APIChat: c.chat,
			openai.APIResponses: c.responses} {
			req := modeltest.User("hi")
			req.Thinking.Level = c.level
			body, reply := send(t, openai.Options{Options: modelhttp.Options{BaseURL: "https://x.openai.azure.com/openai/v1", Model: c.model}, API: api}, req)
			key := map[string]string{openai.APIChat: "reasoning_effort",
				openai.APIResponses: "reasoning"}[api]
			modeltest.Has(t, c.model+" "+c.level+" "+api, body, key, want)
			if len(reply.Notices) != c.notices || len(reply.Lasting) != c.notices {
				t.Errorf("%s %s %s: notices %q", c.model, c.level, api, reply.Notices)
			}
		}
	}
}
