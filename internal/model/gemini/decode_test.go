package gemini_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
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

const secret = "AIza-secret-0123456789"

// endpoint serves an answer and keeps the requests' bodies.
func endpoint(t *testing.T, a modeltest.Answer) (*gemini.Model, *[]string) {
	t.Helper()
	url, sent := modeltest.Serve(t, a)
	m := gemini.New(modelhttp.Options{
		BaseURL:          url,
		Model:            "gemini-3-pro-preview",
		Key:              modeltest.KeyOf(secret),
		IdleTimeout:      300 * time.Millisecond,
		FirstByteTimeout: time.Minute,
	})
	t.Cleanup(func() { _ = m.Close() })
	return m, sent
}

// event is an event of a stream with a candidate.
func event(candidate string) string {
	return `data: {"candidates":[` + candidate + `],` +
		`"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":9}}` + "\n\n"
}

// half is the beginning of a reply.
const half = `data: {"candidates":[{"content":{"parts":[{"text":"half"}],"role":"model"}}]}` +
	"\n\n"

func stopped(reason string) string { return half + event(`{"finishReason":"`+reason+`"}`) }

// failure is an error in Google's form.
func failure(code, status, text string) string {
	return `{"error":{"code":` + code + `,"message":"` + text + `","status":"` + status + `"}}`
}

// TestDocumentedStreams reads the streams of the documentation.
func TestDocumentedStreams(t *testing.T) {
	for name, want := range map[string]string{
		"weather.sse": `text "I'll check both." ; ` +
			`fc1 get_weather{"location": "Paris"} ; ` +
			` get_weather{"location": "London"} ; ` + // the engine gives it an id
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

// TestFilters: a blocked prompt and a stopped reply are errors with the words of the service.
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

// TestFaults: each fault is a typed error, and no error contains the key.
func TestFaults(t *testing.T) {
	body := func(status int, name, text string) modeltest.Answer {
		return modeltest.JSON(status, failure("1", name, text))
	}
	quota := modeltest.JSON(429, `{"error":{"code":429,"message":"You exceeded your current `+
		`quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED",`+
		`"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}`)
	inText := func(code, status, text string) modeltest.Answer {
		return modeltest.Stream(half + "data: " + failure(code, status, text) + "\n\n")
	}
	held := modeltest.Stream(half)
	held.Hold = true
	const tooLong = "The input token count (1200000) exceeds the maximum number of tokens " +
		"allowed (1048576)."
	for name, c := range map[string]struct {
		modeltest.Answer
		kind retry.Kind
		wait time.Duration
	}{
		"overloaded": {
			body(503, "UNAVAILABLE", "The model is overloaded."), retry.Overloaded, 0},
		"overloaded in the text": {
			inText("503", "UNAVAILABLE", "The model is overloaded."), retry.Overloaded, 0},
		"rate limit": {quota, retry.RateLimit, 7 * time.Second},
		"internal":   {body(500, "INTERNAL", "An internal error"), retry.Transient, 0},
		"deadline":   {body(504, "DEADLINE_EXCEEDED", "x"), retry.Transient, 0},
		"too long":   {body(400, "INVALID_ARGUMENT", tooLong), retry.ContextOverflow, 0},
		"bad key": {
			body(400, "INVALID_ARGUMENT", "API key not valid. "+secret), retry.Auth, 0},
		"no key": {
			body(403, "PERMISSION_DENIED", "Method doesn't allow"), retry.Auth, 0},
		"bad request":        {body(400, "INVALID_ARGUMENT", "Invalid value"), retry.Client, 0},
		"unknown model":      {body(404, "NOT_FOUND", "models/x is not found"), retry.Client, 0},
		"cut in the text":    {modeltest.Stream(half), retry.Truncated, 0},
		"cut in an event":    {modeltest.Stream(half + `data: {"cand`), retry.Truncated, 0},
		"empty":              {modeltest.Stream(""), retry.Truncated, 0},
		"not JSON":           {modeltest.Stream("data: hello\n\n"), retry.Truncated, 0},
		"stalls in the text": {held, retry.StreamIdle, 0},
		"malformed call": {
			modeltest.Stream(stopped("MALFORMED_FUNCTION_CALL")), retry.Truncated, 0},
		"another API's": {modeltest.JSON(200, `{"choices":[]}`), retry.Truncated, 0},
	} {
		m, _ := endpoint(t, c.Answer)
		_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
		e := retry.As(err)
		switch {
		case e == nil:
			t.Errorf("%s: %v", name, err)
		case e.Kind != c.kind || (e.RetryAfter-c.wait).Abs() > 3*time.Second:
			t.Errorf("%s: %s after %s (%v), want %s", name, e.Kind, e.RetryAfter, e, c.kind)
		case strings.Contains(e.Error(), secret) || e.Hint == "" || e.Message == "":
			t.Errorf("%s: bad words: %v", name, e)
		}
	}
}

// TestWhole reads answers that are not a stream.
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

// TestAbort: a call that is cancelled returns the cause.
func TestAbort(t *testing.T) {
	a := modeltest.Stream(half)
	a.Hold = true
	m, _ := endpoint(t, a)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user aborted")
	_, err := m.Generate(ctx, modeltest.User("hi"), func(agent.Delta) { cancel(cause) })
	if !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// TestEndless: a stream without an end is stopped like one of any other API.
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
		handler := func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.WriteString(w, half)
			for err == nil {
				_, err = io.WriteString(w, c.next+"\n\n")
			}
		}
		server := httptest.NewServer(http.HandlerFunc(handler))
		m := gemini.New(modelhttp.Options{BaseURL: server.URL, Model: "m", MaxReply: 1 << 20})
		_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
		if !errors.Is(err, retry.ErrReplyTooLong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		_ = m.Close()
		server.Close()
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
