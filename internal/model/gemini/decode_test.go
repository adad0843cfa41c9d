package gemini_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/gemini"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
)

// endpoint returns a model whose endpoint serves an answer, and the bodies of the requests that the
// endpoint receives.
func endpoint(t *testing.T, a modeltest.Answer) (modeltest.Model, *[]string) {
	t.Helper()
	return modeltest.Endpoint(t, api, "gemini-3-pro-preview", a)
}

// event returns a stream event with a candidate.
func event(candidate string) string {
	return `data: {"candidates":[` + candidate + `],` +
		`"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":9}}` + "\n\n"
}

// half is the first part of a reply.
const half = `data: {"candidates":[{"content":{"parts":[{"text":"half"}],"role":"model"}}]}` +
	"\n\n"

func stopped(reason string) string { return half + event(`{"finishReason":"`+reason+`"}`) }

// failure returns an error in Google's format.
func failure(code, status, text string) string {
	return `{"error":{"code":` + code + `,"message":"` + text + `","status":"` + status + `"}}`
}

// TestDocumentedStreams decodes streams that follow the examples in the API's documentation.
func TestDocumentedStreams(t *testing.T) {
	for name, want := range map[string]string{
		"weather.sse": `text "I'll check both." ; ` +
			`fc1 get_weather{"location": "Paris"} ; ` +
			` get_weather{"location": "London"} ; ` + // the engine assigns the ID
			`stop toolUse, in 129 out 109 read 100 write 0 thought 73`,
		"thinking.sse": `reasoning "**Counting**\n\nI count the letters." ; ` +
			`text "There are three." ; ` +
			`reasoning "" {"geminiSignature":"SignatureB"}; ` +
			`stop stop, in 10 out 25 read 0 write 0 thought 20`,
	} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := endpoint(t, modeltest.Stream(string(b)))
		heard := map[agent.DeltaKind]string{}
		reply, err := m.Generate(t.Context(), modeltest.User("hi"), func(d agent.Delta) {
			heard[d.Kind] += d.Text
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := modeltest.Summary(reply)
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		if heard[agent.DeltaText] != reply.Message.TextContent() {
			t.Errorf("%s: heard %q", name, heard)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]message.StopReason{
		"STOP": message.StopEnd, "MAX_TOKENS": message.StopLength, "NEW": message.StopUnknown,
	} {
		m, _ := endpoint(t, modeltest.Stream(stopped(reason)))
		reply, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
		if err != nil || reply.Message.Stop != want || reply.Message.TextContent() != "half" ||
			reply.Message.Usage.Total != 14 {
			t.Errorf("%s: %+v, %v", reason, reply, err)
		}
	}
}

// TestFilters checks that a blocked prompt and a stopped reply become errors with the service's
// explanation.
func TestFilters(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"prompt": {
			`data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}` + "\n\n",
			"blocked the prompt (PROHIBITED_CONTENT)",
		},
		"reply": {
			half + event(`{"finishReason":"SAFETY","finishMessage":"Not this."}`),
			"stopped the reply (SAFETY): Not this.",
		},
	} {
		m, _ := endpoint(t, modeltest.Stream(c.body))
		_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
		e := retry.As(err)
		if e == nil || e.Kind != retry.ContentFilter || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// api describes the Gemini API for the fault tests.
var api = &modeltest.API{
	New:   func(o modelhttp.Options) modeltest.Model { return gemini.New(o) },
	Text:  piece(`{"text":"Hello "}`),
	Rest:  piece(`{"text":"world"}`),
	End:   event(`{"finishReason":"STOP"}`),
	Call:  piece(`{"functionCall":{"name":"look","args":{}}}`),
	Whole: `{"candidates":[{"content":{"parts":[{"text":"Hello world"}]},"finishReason":"STOP"}]}`,
	More:  faults(),
}

// piece returns an event with one part of a reply.
func piece(part string) string {
	return `data: {"candidates":[{"content":{"parts":[` + part + `],"role":"model"}}]}` + "\n\n"
}

// faults returns the faults that are specific to this API.
func faults() []modeltest.Fault {
	body := func(status int, name, text string) modeltest.Handler {
		return modeltest.Say(status, "application/json", failure("1", name, text))
	}
	stream := func(s string) modeltest.Handler { return modeltest.Say(200, modeltest.SSE, s) }
	quota := `{"error":{"code":429,"message":"You exceeded your current ` +
		`quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED",` +
		`"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}`
	const tooLong = "The input token count (1200000) exceeds the maximum number of tokens " +
		"allowed (1048576)."
	const busy = "The model is overloaded."
	return []modeltest.Fault{
		{Name: "overloaded", Serve: body(503, "UNAVAILABLE", busy), Kind: retry.Overloaded},
		{Name: "overloaded in the text",
			Serve: stream(half + "data: " + failure("503", "UNAVAILABLE", busy) + "\n\n"),
			Kind:  retry.Overloaded},
		{Name: "rate limit", Serve: modeltest.Say(429, "application/json", quota),
			Kind: retry.RateLimit, Wait: 7 * time.Second},
		{Name: "internal", Serve: body(500, "INTERNAL", "An internal error"),
			Kind: retry.Transient},
		{Name: "deadline", Serve: body(504, "DEADLINE_EXCEEDED", "x"), Kind: retry.Transient},
		{Name: "too long", Serve: body(400, "INVALID_ARGUMENT", tooLong),
			Kind: retry.ContextOverflow},
		{Name: "bad key", Serve: body(400, "INVALID_ARGUMENT", "API key not valid. "+
			modeltest.Secret),
			Kind: retry.Auth},
		{Name: "no key", Serve: body(403, "PERMISSION_DENIED", "Method doesn't allow"),
			Kind: retry.Auth},
		{Name: "bad request", Serve: body(400, "INVALID_ARGUMENT", "Invalid value"),
			Kind: retry.Client},
		{Name: "unknown model", Serve: body(404, "NOT_FOUND", "models/x is not found"),
			Kind: retry.Client},
		{Name: "malformed call", Serve: stream(stopped("MALFORMED_FUNCTION_CALL")),
			Kind: retry.Truncated},
		{Name: "another API's", Serve: modeltest.Say(200, "application/json", `{"choices":[]}`),
			Kind: retry.Truncated},
		{Name: "ends without usage", Serve: stream(piece(`{"text":"half"}`) +
			`data: {"candidates":[{"finishReason":"STOP"}]}` + "\n\n"), Text: "half"},
	}
}

// TestFaults checks that each fault has the expected outcome, and that no error contains the key.
func TestFaults(t *testing.T) {
	t.Parallel()
	modeltest.CheckFaults(t, api)
}

// TestWhole decodes replies that are not streamed.
func TestWhole(t *testing.T) {
	m, _ := endpoint(t, modeltest.JSON(200, `{"candidates":[{"content":{"parts":[`+
		`{"text":"Hm","thought":true},{"text":"Yes."},`+
		`{"functionCall":{"id":"t1","name":"read","args":{"path":"a"}},"thoughtSignature":"S"}`+
		`]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,`+
		`"candidatesTokenCount":4}}`))
	reply, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `reasoning "Hm" ; text "Yes." ; t1 read{"path":"a"} ; ` +
		`stop toolUse, in 3 out 4 read 0 write 0 thought 0`
	if got := modeltest.Summary(reply); got != want {
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
	part := func(p string) string {
		return `data: {"candidates":[{"content":{"parts":[` + p + `]}}]}`
	}
	for name, c := range map[string]struct{ next, want string }{
		"text":       {part(`{"text":"` + kib + `"}`), "longer than 1 MiB"},
		"signatures": {part(`{"text":"","thoughtSignature":"` + kib + `"}`), "longer than 1 MiB"},
		"calls":      {part(`{"functionCall":{"name":"n","args":{}}}`), "256 tool calls"},
		"nothing":    {part(`{"new":"` + kib + `"}`), "longer than"},
	} {
		modeltest.CheckEndless(t, api, name, c.next, c.want)
	}
}

func TestModels(t *testing.T) {
	m, _ := endpoint(t, modeltest.JSON(200, `{"models":[{"name":"models/gemini-2.5-flash",`+
		`"displayName":"Flash",`+
		`"inputTokenLimit":1048576,"outputTokenLimit":65536,`+
		`"supportedGenerationMethods":["generateContent","countTokens"]},`+
		`{"name":"models/embedding-001","supportedGenerationMethods":["embedContent"]},`+
		`{"name":""}]}`))
	list, err := m.Models(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "gemini-2.5-flash" ||
		list[0].Name != "Flash" || list[0].ContextWindow != 1048576 || list[0].MaxOutput != 65536 {
		t.Errorf("got %+v, %v", list, err)
	}
}

// TestOptionsPrecedeTheList checks that a model's options take precedence over the endpoint's model
// list.
func TestOptionsPrecedeTheList(t *testing.T) {
	modeltest.CheckListed(t, api, `{"models":[{"name":"models/m","inputTokenLimit":1000}]}`)
}
