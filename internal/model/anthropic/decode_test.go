package anthropic_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/anthropic"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
)

// endpoint returns a model whose endpoint serves an answer, and the bodies of the requests that the
// endpoint receives.
func endpoint(t *testing.T, a modeltest.Answer) (modeltest.Model, *[]string) {
	t.Helper()
	return modeltest.Endpoint(t, api, "claude-sonnet-4-5", a)
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRecordedStreams decodes streams in testdata, which its README describes.
func TestRecordedStreams(t *testing.T) {
	for name, want := range map[string]string{
		"weather.sse": `text "I'll get the current weather in San Francisco for you in Fahrenheit." ; toolu_01RaX2WYWRWCbaeFHssmGJXG get_weather{"city": "San Francisco", "units": "fahrenheit"} ; stop toolUse, in 397 out 89 read 0 write 0 thought 0`,
		"thinking.sse": `reasoning "Let me think...\nFirst, let's try this...\nTherefore, the answer is..." {"anthropic":{"type":"thinking","thinking":"Let me think...\nFirst, let's try this...\nTherefore, the answer is...","signature":"ThinkingSignature"},"sum":"SUM"}; ` +
			`reasoning "" {"anthropic":{"type":"redacted_thinking","data":"Redacted"},` +
			`"sum":"SUM"}; text "Done." ; stop stop, in 60 out 40 read 30 write 20 thought 25`,
	} {
		m, _ := endpoint(t, modeltest.Stream(fixture(t, name)))
		var heard [3]strings.Builder
		reply, err := m.Generate(t.Context(), modeltest.User("hi"), func(d agent.Delta) {
			heard[map[agent.DeltaKind]int{agent.DeltaText: 0, agent.DeltaReasoning: 1,
				agent.DeltaToolInput: 2}[d.Kind]].WriteString(
				d.Text,
			)
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := modeltest.Summary(reply)
		for _, p := range reply.Message.Content {
			var k struct{ Sum string }
			if json.Unmarshal(p.Opaque, &k) == nil && k.Sum != "" {
				got = strings.Replace(got, k.Sum, "SUM", 1)
			}
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		if heard[0].String() != reply.Message.TextContent() {
			t.Errorf("%s: heard %q", name, heard[0].String())
		}
	}
}

// frame returns a stream that consists of one text and the given end.
func frame(end string) string {
	return `data: {"type":"message_start","message":{"usage":{"input_tokens":5,` +
		`"output_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` +
		"\n\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",` +
		`"text":"half"}}` + "\n\n" + end
}

func stopped(reason string) string {
	return frame(
		`data: {"type":"message_delta","delta":{"stop_reason":"` + reason +
			`"},"usage":{"output_tokens":9}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n",
	)
}

func TestStopReasons(t *testing.T) {
	for reason, want := range map[string]message.StopReason{
		"end_turn": message.StopEnd, "stop_sequence": message.StopEnd, "tool_use": message.StopEnd,
		"max_tokens":                    message.StopLength,
		"model_context_window_exceeded": message.StopLength, "something_new": message.StopUnknown,
	} {
		m, _ := endpoint(t, modeltest.Stream(stopped(reason)))
		reply, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
		if err != nil || reply.Message.Stop != want || reply.Message.TextContent() != "half" ||
			reply.Message.Usage.Total != 14 {
			t.Errorf("%s: %+v, %v", reason, reply, err)
		}
	}
}

// TestRefusal checks that a refusal becomes an error with the service's explanation.
func TestRefusal(t *testing.T) {
	m, _ := endpoint(
		t,
		modeltest.Stream(
			frame(
				`data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{`+
					`"type":"refusal","category":"cyber","explanation":"This asks for an `+
					`exploit."}}}`+"\n\n"+`data: {"type":"message_stop"}`+"\n\n",
			),
		),
	)
	_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
	e := retry.As(err)
	if e == nil || e.Kind != retry.ContentFilter ||
		!strings.Contains(
			e.Message,
			"claude-sonnet-4-5 refused to answer (cyber): This asks for an exploit.",
		) ||
		e.Hint == "" {
		t.Errorf("got %v", err)
	}
}

// TestPause checks that a paused reply is sent back unchanged and without an additional message,
// and that the final reply combines all parts.
func TestPause(t *testing.T) {
	m, sent := endpoint(t, modeltest.Stream(fixture(t, "search.sse"), stopped("end_turn")))
	reply, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(*sent) != 2 ||
		!strings.Contains(
			(*sent)[1],
			`{"role":"assistant","content":[{"id":"srvtoolu_id","input":{"query":"weather"},`+
				`"name":"web_search","type":"server_tool_use"}]}]}`,
		) {
		t.Errorf("sent %q", *sent)
	}
	if u := reply.Message.Usage; reply.Message.TextContent() != "half" ||
		len(reply.Message.Content) != 2 ||
		u.Output != 49 ||
		reply.Message.Stop != message.StopEnd {
		t.Errorf("got %s", modeltest.Summary(reply))
	}
	endless, sent := endpoint(t, modeltest.Stream(fixture(t, "search.sse")))
	if reply, err := endless.Generate(
		t.Context(),
		modeltest.User("hi"),
		nil,
	); err != nil || reply.Message.Stop != message.StopEnd ||
		len(*sent) > 10 {
		t.Errorf("a reply that is always paused: %v after %d requests", err, len(*sent))
	}
}

// api describes the Messages API for the fault tests.
var api = &modeltest.API{
	New: func(o modelhttp.Options) modeltest.Model { return anthropic.New(o) },
	Begin: `data: {"type":"message_start","message":{"usage":{"input_tokens":5,` +
		`"output_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` +
		"\n\n",
	Text: `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",` +
		`"text":"Hello "}}` + "\n\n",
	Rest: `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",` +
		`"text":"world"}}` + "\n\n",
	End: `data: {"type":"content_block_stop","index":0}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},` +
		`"usage":{"output_tokens":9}}` + "\n\n",
	Done: `data: {"type":"message_stop"}` + "\n\n",
	Call: `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use",` +
		`"id":"t","name":"look","input":{}}}` + "\n\n" +
		`data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",` +
		`"partial_json":"{\"pa"}}` + "\n\n",
	Whole: `{"type":"message","content":[{"type":"text","text":"Hello world"}],` +
		`"stop_reason":"end_turn"}`,
	More: faults(),
}

// faults returns the faults that are specific to this API.
func faults() []modeltest.Fault {
	event := func(kind, text string) string {
		return "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"" + kind +
			"\",\"message\":\"" + text + "\"}}\n\n"
	}
	body := func(status int, kind, text string) modeltest.Answer {
		return modeltest.JSON(status, `{"type":"error","error":{"type":"`+kind+`","message":"`+text+
			`"},"request_id":"req_1"}`)
	}
	limited := func(w http.ResponseWriter, r *http.Request) {
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
		a := body(429, "rate_limit_error", "slow down")
		a.Header = map[string]string{
			"Anthropic-Ratelimit-Tokens-Remaining":   "0",
			"Anthropic-Ratelimit-Tokens-Reset":       in(20 * time.Second),
			"Anthropic-Ratelimit-Requests-Remaining": "10",
			"Anthropic-Ratelimit-Requests-Reset":     in(time.Hour),
		}
		a.Serve(w, r)
	}
	return []modeltest.Fault{
		{Name: "overloaded before", Serve: body(529, "overloaded_error", "Overloaded").Serve,
			Kind: retry.Overloaded},
		{Name: "overloaded first", Serve: modeltest.Stream(event("overloaded_error",
			"Overloaded")).Serve, Kind: retry.Overloaded},
		{Name: "overloaded in the text",
			Serve: modeltest.Stream(frame(event("overloaded_error", "Overloaded"))).Serve,
			Kind:  retry.Overloaded},
		{Name: "rate limit in the text",
			Serve: modeltest.Stream(frame(event("rate_limit_error", "x"))).Serve,
			Kind:  retry.RateLimit},
		{Name: "error of the API in the text",
			Serve: modeltest.Stream(frame(event("api_error", "Internal server error"))).Serve,
			Kind:  retry.Transient},
		{Name: "rate limit, its window", Serve: limited, Kind: retry.RateLimit,
			Wait: 20 * time.Second, Slack: 3 * time.Second},
		{Name: "413", Serve: body(413, "request_too_large",
			"Request exceeds the maximum size").Serve, Kind: retry.ContextOverflow},
		{Name: "too long", Serve: body(400, "invalid_request_error",
			"prompt is too long: 210000 tokens > 200000 maximum").Serve,
			Kind: retry.ContextOverflow},
		{Name: "too long with the output",
			Serve: body(400, "invalid_request_error",
				"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000").Serve, Kind: retry.ContextOverflow},
		{Name: "auth", Serve: body(401, "authentication_error", "invalid x-api-key "+
			modeltest.Secret).Serve, Kind: retry.Auth},
		{Name: "permission", Serve: body(403, "permission_error", "no").Serve, Kind: retry.Auth},
		{Name: "billing", Serve: body(400, "invalid_request_error",
			"Your credit balance is too low to access the Anthropic API.").Serve,
			Kind: retry.Quota},
		{Name: "unknown model", Serve: body(404, "not_found_error", "model: claude-9").Serve,
			Kind: retry.Client},
		{Name: "bad request", Serve: body(400, "invalid_request_error",
			"messages: roles must alternate").Serve, Kind: retry.Client},
		{Name: "timeout", Serve: body(504, "timeout_error", "x").Serve, Kind: retry.Transient},
		{Name: "cut in the text", Serve: modeltest.Stream(frame("")).Serve, Kind: retry.Truncated},
		{Name: "cut in an event", Serve: modeltest.Stream(frame(`data: {"type":"mess`)).Serve,
			Kind: retry.Truncated},
		{Name: "JSON that is an error",
			Serve: modeltest.Answer{Status: 200, Kind: "application/json",
				Bodies: []string{`{"type":"error","error":{"type":"overloaded_error",` +
					`"message":"x"}}`}}.Serve, Kind: retry.Overloaded},
		{Name: "JSON that is another API's",
			Serve: modeltest.Answer{Status: 200, Kind: "application/json",
				Bodies: []string{`{"choices":[]}`}}.Serve, Kind: retry.Truncated},
		{Name: "event: error that is no JSON",
			Serve: modeltest.Stream("event: error\ndata: Overloaded\n\n").Serve,
			Kind:  retry.Overloaded},
		{Name: "error of a proxy in the stream",
			Serve: modeltest.Stream(`data: {"error":{"type":"overloaded_error","message":"x"}}` +
				"\n\n").Serve, Kind: retry.Overloaded},
		{Name: "ends without its mark but with its reason", Serve: modeltest.Stream(frame(
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n")).Serve,
			Text: "half"},
	}
}

// TestFaults checks that each fault has the expected outcome, and that no error contains the key.
func TestFaults(t *testing.T) {
	t.Parallel()
	modeltest.CheckFaults(t, api)
}

// TestWhole decodes replies that are not streamed.
func TestWhole(t *testing.T) {
	m, _ := endpoint(
		t,
		modeltest.Answer{
			Status: 200,
			Kind:   "application/json",
			Bodies: []string{
				`{"type":"message","role":"assistant","content":[{"type":"thinking",` +
					`"thinking":"Hm","signature":"S"},{"type":"text","text":"Yes."},` +
					`{"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}}],` +
					`"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`,
			},
		},
	)
	reply, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := modeltest.Summary(
		reply,
	); !strings.HasPrefix(got, `reasoning "Hm" {"anthropic":{"type":"thinking","thinking":"Hm",`+
		`"signature":"S"}`) ||
		!strings.HasSuffix(
			got,
			`text "Yes." ; t1 read{"path":"a"} ; stop toolUse, in 3 out 4 read 0 write 0 thought 0`,
		) {
		t.Errorf("got %s", got)
	}
}

// TestFaultPhases checks each fault in the phases of a turn to which it applies.
func TestFaultPhases(t *testing.T) {
	t.Parallel()
	modeltest.CheckPhases(t, api)
}

// TestAbort checks that a canceled call returns immediately (protocol 3.3).
func TestAbort(t *testing.T) { modeltest.CheckAbort(t, api) }

// TestEndless checks that a stream that never ends is stopped with an error.
func TestEndless(t *testing.T) {
	kib := strings.Repeat("0123456789abcdef", 64)
	for name, c := range map[string]struct{ next, want string }{
		"text": {`data: {"type":"content_block_delta","index":0,"delta":{` +
			`"type":"text_delta","text":"` + kib + `"}}`, "longer than 1 MiB"},
		"signatures": {`data: {"type":"content_block_delta","index":0,"delta":{` +
			`"type":"signature_delta","signature":"` + kib + `"}}`, "longer than 1 MiB"},
		"blocks": {`data: {"type":"content_block_start","index":1,"content_block":{` +
			`"type":"text","text":""}}`, "longer than 1 MiB"},
		"calls": {`data: {"type":"content_block_start","index":1,"content_block":{` +
			`"type":"tool_use","id":"t","name":"n","input":{}}}`, "256 tool calls"},
		"raw blocks": {`data: {"type":"content_block_start","index":1,"content_block":{` +
			`"type":"new","x":"` + kib + `"}}`, "longer than 1 MiB"},
	} {
		modeltest.CheckEndless(t, api, name, c.next, c.want)
	}
}

func TestModels(t *testing.T) {
	m, _ := endpoint(
		t,
		modeltest.Answer{
			Status: 200,
			Kind:   "application/json",
			Bodies: []string{
				`{"data":[{"type":"model","id":"claude-opus-5-5","display_name":"Claude Opus",` +
					`"max_input_tokens":1000000,"max_tokens":128000,"capabilities":{` +
					`"image_input":{"supported":true}}},{"id":""}],"has_more":false}`,
			},
		},
	)
	list, err := m.Models(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "claude-opus-5-5" ||
		list[0].Name != "Claude Opus" ||
		list[0].ContextWindow != 1000000 ||
		list[0].MaxOutput != 128000 ||
		list[0].Vision == nil ||
		!*list[0].Vision {
		t.Errorf("got %+v, %v", list, err)
	}
}

// TestOptionsPrecedeTheList checks that a model's options take precedence over the endpoint's model
// list.
func TestOptionsPrecedeTheList(t *testing.T) {
	modeltest.CheckListed(t, api, `{"data":[{"id":"m","max_input_tokens":1000,`+
		`"capabilities":{"image_input":{"supported":false}}}]}`)
}
