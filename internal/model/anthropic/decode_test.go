package anthropic_test

import (
	"context"
	"encoding/json"
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
	"github.com/agent-lsp/agent-lsp/internal/model/anthropic"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
)

const secret = "sk-ant-secret-0123456789"

// endpoint serves an answer and keeps the requests' bodies.
func endpoint(t *testing.T, a modeltest.Answer) (*anthropic.Model, *[]string) {
	t.Helper()
	url, sent := modeltest.Serve(t, a)
	m := anthropic.New(modelhttp.Options{
		BaseURL:          url,
		Model:            "claude-sonnet-4-5",
		Key:              modeltest.KeyOf(secret),
		IdleTimeout:      300 * time.Millisecond,
		FirstByteTimeout: time.Minute,
	})
	t.Cleanup(func() { _ = m.Close() })
	return m, sent
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRecordedStreams reads what the service sends, streamed as it came and byte by byte.
func TestRecordedStreams(t *testing.T) {
	for name, want := range map[string]string{
		"weather.sse": `text "I'll get the current weather in San Francisco for you in Fahrenheit." ; toolu_01RaX2WYWRWCbaeFHssmGJXG get_weather{"city": "San Francisco", "units": "fahrenheit"} ; stop toolUse, in 397 out 89 read 0 write 0 thought 0`,
		"thinking.sse": `reasoning "Let me think...\nFirst, let's try this...\nTherefore, the answer is..." {"anthropic":{"type":"thinking","thinking":"Let me think...\nFirst, let's try this...\nTherefore, the answer is...","signature":"ThinkingSignature"},"sum":"SUM"}; ` +
			`reasoning "" {"anthropic":{"type":"redacted_thinking","data":"Redacted"},"sum":"SUM"}; text "Done." ; stop stop, in 60 out 40 read 30 write 20 thought 25`,
	} {
		m, _ := endpoint(t, modeltest.Stream(fixture(t, name)))
		var heard [3]strings.Builder
		reply, err := m.Generate(t.Context(), modeltest.User("hi"), func(d agent.Delta) {
			heard[map[agent.DeltaKind]int{agent.DeltaText: 0, agent.DeltaReasoning: 1, agent.DeltaToolInput: 2}[d.Kind]].WriteString(
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

// frame is a stream with a text and the given end.
func frame(end string) string {
	return `data: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}` + "\n\n" + end
}

func stopped(reason string) string {
	return frame(
		`data: {"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":9}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n",
	)
}

func TestStopReasons(t *testing.T) {
	for reason, want := range map[string]message.StopReason{
		"end_turn": message.StopEnd, "stop_sequence": message.StopEnd, "tool_use": message.StopEnd, "max_tokens": message.StopLength,
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

// TestRefusal: a refusal is an error with the words of the service.
func TestRefusal(t *testing.T) {
	m, _ := endpoint(
		t,
		modeltest.Stream(
			frame(
				`data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"This asks for an exploit."}}}`+"\n\n"+`data: {"type":"message_stop"}`+"\n\n",
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

// TestPause: a paused reply is sent back unchanged, with no message added; the reply is all parts
// together.
func TestPause(t *testing.T) {
	m, sent := endpoint(t, modeltest.Stream(fixture(t, "search.sse"), stopped("end_turn")))
	reply, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(*sent) != 2 ||
		!strings.Contains(
			(*sent)[1],
			`{"role":"assistant","content":[{"id":"srvtoolu_id","input":{"query":"weather"},"name":"web_search","type":"server_tool_use"}]}]}`,
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

// TestFaults: each fault is a typed error, no error has the key.
func TestFaults(t *testing.T) {
	event := func(kind, text string) string {
		return "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"" + kind + "\",\"message\":\"" + text + "\"}}\n\n"
	}
	body := func(status int, kind, text string) modeltest.Answer {
		return modeltest.Answer{
			Status: status,
			Kind:   "application/json",
			Bodies: []string{
				`{"type":"error","error":{"type":"` + kind + `","message":"` + text + `"},"request_id":"req_1"}`,
			},
		}
	}
	limited := body(429, "rate_limit_error", "slow down")
	limited.Header = map[string]string{
		"Anthropic-Ratelimit-Tokens-Remaining": "0",
		"Anthropic-Ratelimit-Tokens-Reset": time.Now().
			Add(20 * time.Second).
			UTC().
			Format(time.RFC3339),
		"Anthropic-Ratelimit-Requests-Remaining": "10",
		"Anthropic-Ratelimit-Requests-Reset": time.Now().
			Add(time.Hour).
			UTC().
			Format(time.RFC3339),
	}
	asked := body(429, "rate_limit_error", "slow down")
	asked.Header = map[string]string{"Retry-After": "7"}
	for name, c := range map[string]struct {
		modeltest.Answer
		kind retry.Kind
		wait time.Duration
	}{
		"overloaded before":              {body(529, "overloaded_error", "Overloaded"), retry.Overloaded, 0},
		"overloaded first":               {modeltest.Stream(event("overloaded_error", "Overloaded")), retry.Overloaded, 0},
		"overloaded in the text":         {modeltest.Stream(frame(event("overloaded_error", "Overloaded"))), retry.Overloaded, 0},
		"rate limit in the text":         {modeltest.Stream(frame(event("rate_limit_error", "x"))), retry.RateLimit, 0},
		"error of the API in the text":   {modeltest.Stream(frame(event("api_error", "Internal server error"))), retry.Transient, 0},
		"rate limit, its window":         {limited, retry.RateLimit, 20 * time.Second},
		"rate limit, Retry-After":        {asked, retry.RateLimit, 7 * time.Second},
		"413":                            {body(413, "request_too_large", "Request exceeds the maximum size"), retry.ContextOverflow, 0},
		"413 of a proxy":                 {modeltest.Answer{Status: 413, Kind: "text/html", Bodies: []string{"<html><body>Entity</body></html>"}}, retry.ContextOverflow, 0},
		"too long":                       {body(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), retry.ContextOverflow, 0},
		"too long with the output":       {body(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"), retry.ContextOverflow, 0},
		"auth":                           {body(401, "authentication_error", "invalid x-api-key "+secret), retry.Auth, 0},
		"permission":                     {body(403, "permission_error", "no"), retry.Auth, 0},
		"billing":                        {body(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."), retry.Quota, 0},
		"unknown model":                  {body(404, "not_found_error", "model: claude-9"), retry.Client, 0},
		"bad request":                    {body(400, "invalid_request_error", "messages: roles must alternate"), retry.Client, 0},
		"timeout":                        {body(504, "timeout_error", "x"), retry.Transient, 0},
		"cut in the text":                {modeltest.Stream(frame("")), retry.Truncated, 0},
		"cut in an event":                {modeltest.Stream(frame(`data: {"type":"mess`)), retry.Truncated, 0},
		"empty":                          {modeltest.Stream(""), retry.Truncated, 0},
		"no JSON":                        {modeltest.Stream("data: hello\n\n"), retry.Truncated, 0},
		"stalls in the text":             {modeltest.Answer{Status: 200, Kind: "text/event-stream", Bodies: []string{frame("")}, Hold: true}, retry.StreamIdle, 0},
		"HTML":                           {modeltest.Answer{Status: 200, Kind: "text/html", Bodies: []string{"<html></html>"}}, retry.Client, 0},
		"JSON that is an error":          {modeltest.Answer{Status: 200, Kind: "application/json", Bodies: []string{`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`}}, retry.Overloaded, 0},
		"JSON that is another API's":     {modeltest.Answer{Status: 200, Kind: "application/json", Bodies: []string{`{"choices":[]}`}}, retry.Truncated, 0},
		"event: error that is no JSON":   {modeltest.Stream("event: error\ndata: Overloaded\n\n"), retry.Overloaded, 0},
		"error of a proxy in the stream": {modeltest.Stream(`data: {"error":{"type":"overloaded_error","message":"x"}}` + "\n\n"), retry.Overloaded, 0},
	} {
		m, _ := endpoint(t, c.Answer)
		_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
		e := retry.As(err)
		switch {
		case e == nil:
			t.Errorf("%s: %v", name, err)
		case e.Kind != c.kind || (e.RetryAfter-c.wait).Abs() > 3*time.Second:
			t.Errorf(
				"%s: %s after %s (%v), want %s after %s",
				name,
				e.Kind,
				e.RetryAfter,
				e,
				c.kind,
				c.wait,
			)
		case strings.Contains(e.Error(), secret) || e.Hint == "" || e.Message == "":
			t.Errorf("%s: bad words: %v", name, e)
		}
	}
}

// TestWhole reads answers that are not a stream.
func TestWhole(t *testing.T) {
	m, _ := endpoint(
		t,
		modeltest.Answer{
			Status: 200,
			Kind:   "application/json",
			Bodies: []string{
				`{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"S"},{"type":"text","text":"Yes."},{"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`,
			},
		},
	)
	reply, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := modeltest.Summary(
		reply,
	); !strings.HasPrefix(got, `reasoning "Hm" {"anthropic":{"type":"thinking","thinking":"Hm","signature":"S"}`) ||
		!strings.HasSuffix(
			got,
			`text "Yes." ; t1 read{"path":"a"} ; stop toolUse, in 3 out 4 read 0 write 0 thought 0`,
		) {
		t.Errorf("got %s", got)
	}
}

// TestAbort: a call that is cancelled returns the cause at once.
func TestAbort(t *testing.T) {
	m, _ := endpoint(
		t,
		modeltest.Answer{Status: 200, Kind: "text/event-stream", Bodies: []string{frame("")}, Hold: true},
	)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user aborted")
	if _, err := m.Generate(
		ctx,
		modeltest.User("hi"),
		func(agent.Delta) { cancel(cause) },
	); !errors.Is(
		err,
		cause,
	) {
		t.Errorf("got %v", err)
	}
}

// TestEndless: a stream without an end is stopped like one of any other API.
func TestEndless(t *testing.T) {
	kib := strings.Repeat("0123456789abcdef", 64)
	for name, c := range map[string]struct{ next, want string }{
		"text":       {`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + kib + `"}}`, "longer than 1 MiB"},
		"signatures": {`data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"` + kib + `"}}`, "longer than 1 MiB"},
		"blocks":     {`data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, "longer than 1 MiB"},
		"calls":      {`data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}`, "256 tool calls"},
		"raw blocks": {`data: {"type":"content_block_start","index":1,"content_block":{"type":"new","x":"` + kib + `"}}`, "longer than 1 MiB"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.WriteString(w, frame(""))
			for err == nil {
				_, err = io.WriteString(w, c.next+"\n\n")
			}
		}))
		m := anthropic.New(modelhttp.Options{BaseURL: server.URL, Model: "m", MaxReply: 1 << 20})
		_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
		if !errors.Is(err, retry.ErrReplyTooLong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		_ = m.Close()
		server.Close()
	}
}

func TestModels(t *testing.T) {
	m, _ := endpoint(
		t,
		modeltest.Answer{
			Status: 200,
			Kind:   "application/json",
			Bodies: []string{
				`{"data":[{"type":"model","id":"claude-opus-5-5","display_name":"Claude Opus","max_input_tokens":1000000,"max_tokens":128000,"capabilities":{"image_input":{"supported":true}}},{"id":""}],"has_more":false}`,
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
