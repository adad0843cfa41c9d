package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// The shapes that a sound provider sends.
const (
	sse      = "text/event-stream"
	textPart = `data: {"choices":[{"index":0,"delta":{"content":"Hello "}}]}` + "\n\n"
	lastPart = `data: {"choices":[{"index":0,"delta":{"content":"world"},"finish_reason":"stop"}]}` + "\n\n"
	callPart = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"pa"}}]}}]}` + "\n\n"
	done     = "data: [DONE]\n\n"
	sound    = textPart + lastPart + done
	whole    = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello world"},"finish_reason":"stop"}]}`
)

// fault is one way to fail. Exactly one of kind and text is what comes of it.
type fault struct {
	name   string
	serve  func(w http.ResponseWriter, r *http.Request)
	kind   retry.Kind
	text   string
	wait   time.Duration // Retry-After as told
	stream bool          // has no meaning without a stream
	stalls bool          // told by the status, though the client has to give up waiting
}

// say answers with a body of a type.
func say(status int, contentType, body string, header ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// then sends a beginning and goes on with rest.
func then(begin string, rest func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", sse)
		_, _ = io.WriteString(w, begin)
		_ = http.NewResponseController(w).Flush()
		rest(w, r)
	}
}

// stall sends nothing until the client goes.
func stall(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// reset closes the connection with a reset.
func reset(w http.ResponseWriter, _ *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// repeat sends s again and again until the client goes.
func repeat(s string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				if _, err := io.WriteString(w, s); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
}

// slowly sends a body byte by byte.
func slowly(body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", sse)
		for i := range len(body) {
			_, _ = io.WriteString(w, body[i:i+1])
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// reorderedCalls is a reply with two calls, of which the pieces of the second come before those of the first.
var reorderedCalls = `data: {"choices":[{"index":0,"delta":{"content":"Hello world"}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"look","arguments":"{\"at\""}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"at\""}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":":2}"}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" + done

func faults() []fault {
	big := strings.Repeat("0123456789abcdef", 10<<20/16)
	page := "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>"
	return []fault{
		{name: "sound", serve: say(200, sse, sound), text: "Hello world"},
		{name: "resets at once", serve: reset, kind: retry.Transient},
		{name: "stalls before the answer", serve: stall, kind: retry.StreamIdle},
		{name: "stalls after the headers", serve: then("", stall), kind: retry.StreamIdle},
		{name: "stalls in the text", serve: then(textPart, stall), kind: retry.StreamIdle},
		{name: "stalls in a call", serve: then(callPart, stall), kind: retry.StreamIdle},
		{name: "resets in the text", serve: then(textPart, reset), kind: retry.Truncated},
		{name: "resets in a call", serve: then(callPart, reset), kind: retry.Truncated},
		{name: "ends after the text", serve: say(200, sse, textPart), kind: retry.Truncated},
		{name: "ends in a call", serve: say(200, sse, callPart), kind: retry.Truncated},
		{name: "ends in mid-JSON", serve: say(200, sse, textPart+`data: {"choices":[{"ind`), kind: retry.Truncated},
		{name: "ends in mid-UTF-8", serve: say(200, sse, textPart+"data: {\"choices\":[{\"delta\":{\"content\":\"\xe2\x82"), kind: retry.Truncated},
		{name: "ends without its mark but with its reason", serve: say(200, sse, textPart+lastPart), text: "Hello world"},
		{name: "last event without newline", serve: say(200, sse, textPart+strings.TrimSpace(lastPart)), text: "Hello world"},
		{name: "trickles", serve: slowly(sound), text: "Hello world"},
		{name: "repeats its end", serve: say(200, sse, textPart+lastPart+done+done), text: "Hello world"},
		{name: "repeats all of it behind its end", serve: say(200, sse, sound+sound), text: "Hello world"},
		{name: "repeats its beginning", serve: say(200, sse, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`+"\n\n"+`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`+"\n\n"+sound), text: "Hello world"},
		{name: "reorders the fragments of calls", serve: say(200, sse, reorderedCalls), text: "Hello world", stream: true},
		{name: "empty body", serve: say(200, sse, ""), kind: retry.Truncated},
		{name: "only the end mark", serve: say(200, sse, done), kind: retry.Transient},
		{name: "empty choices", serve: say(200, sse, `data: {"choices":[]}`+"\n\n"+done), kind: retry.Transient},
		{name: "null choices", serve: say(200, sse, `data: {"choices":null}`+"\n\n"+done), kind: retry.Transient},
		{name: "empty choices before the first", serve: say(200, sse, `data: {"choices":[],"prompt_filter_results":[]}`+"\n\n"+sound), text: "Hello world"},
		{name: "comments before and between", serve: say(200, sse, strings.Repeat(": PROCESSING\n\n", 1000)+textPart+strings.Repeat(":\n", 1000)+lastPart+done), text: "Hello world"},
		{name: "comments without end", serve: then("", repeat(": PROCESSING\n\n")), kind: retry.StreamIdle},
		{name: "comments without end after text", serve: then(textPart, repeat(": PROCESSING\n\n")), kind: retry.StreamIdle},
		{name: "an event without end", serve: then(textPart, repeat("x")), kind: retry.StreamIdle},
		{name: "10 MB delta", serve: say(200, sse, `data: {"choices":[{"delta":{"content":"`+big+`"},"finish_reason":"stop"}]}`+"\n\n"+done), text: big},
		{name: "longer than allowed", serve: say(200, sse, `data: {"choices":[{"delta":{"content":"`+big+big+`"},"finish_reason":"stop"}]}`+"\n\n"+done), kind: retry.Client},
		{name: "wrong content type", serve: say(200, "application/octet-stream", sound), text: "Hello world"},
		{name: "JSON in place of a stream", serve: say(200, "application/json", whole), text: "Hello world"},
		{name: "HTML", serve: say(200, "text/html", page), kind: retry.Client},
		{name: "HTML that claims to be a stream", serve: say(200, sse, "\n "+page), kind: retry.Client},
		{name: "HTML gateway error", serve: say(502, "text/html", page), kind: retry.Transient},
		{name: "redirect to a page", serve: say(302, "text/html", page, "Location", "/login"), kind: retry.Client},
		{name: "redirect with a stream", serve: say(302, sse, sound, "Location", "/login"), kind: retry.Client},
		{name: "events that are no JSON", serve: say(200, sse, "data: hello\n\n"+done), kind: retry.Truncated},
		{name: "400", serve: say(400, "application/json", `{"error":{"message":"unknown field"}}`), kind: retry.Client},
		{name: "401", serve: say(401, "application/json", `{"error":{"message":"Incorrect API key provided: sk-secret12345"}}`), kind: retry.Auth},
		{name: "404", serve: say(404, "text/plain", "404 page not found"), kind: retry.Client},
		{name: "429", serve: say(429, "application/json", `{"error":{"message":"slow down"}}`), kind: retry.RateLimit},
		{name: "429 Retry-After", serve: say(429, "application/json", `{"error":{"message":"slow down"}}`, "Retry-After", "9"), kind: retry.RateLimit, wait: 9 * time.Second},
		{name: "429 quota", serve: say(429, "application/json", `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`), kind: retry.Quota},
		{name: "500", serve: say(500, "application/json", `{"error":{"message":"oops"}}`), kind: retry.Transient},
		{name: "500 Retry-After", serve: say(500, "application/json", `{}`, "Retry-After", "3"), kind: retry.Transient, wait: 3 * time.Second},
		{name: "529", serve: say(529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), kind: retry.Overloaded},
		{name: "529 Retry-After", serve: say(529, "application/json", `{"error":{"message":"busy"}}`, "Retry-After", "2"), kind: retry.Overloaded, wait: 2 * time.Second},
		{name: "error body that stalls", serve: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, kind: retry.Transient, stalls: true},
		{name: "error as first event", serve: say(200, sse, `data: { "error": {"message":"busy","code":503}}`+"\n\n"), kind: retry.Overloaded},
		{name: "error text event", serve: say(200, sse, `data: {"error":"model overloaded"}`+"\n\n"+done), kind: retry.Overloaded},
		{name: "event: error", serve: say(200, sse, textPart+"event: error\ndata: {\"type\":\"overloaded_error\",\"message\":\"x\"}\n\n"), kind: retry.Overloaded, stream: true},
		{name: "event: error in words", serve: say(200, sse, textPart+"event: error\ndata: rate limit reached\n\n"), kind: retry.RateLimit, stream: true},
		{name: "error within a choice", serve: say(200, sse, `data: {"choices":[{"delta":{},"error":{"code":502,"message":"upstream"},"finish_reason":"error"}]}`+"\n\n"+done), kind: retry.Transient},
		{name: "200 with an error body", serve: say(200, "application/json", "{\n\"error\": {\"message\":\"no such model\",\"code\":404}}"), kind: retry.Client},
		{name: "context overflow", serve: say(400, "application/json", `{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 100000 tokens"}}`), kind: retry.ContextOverflow},
		{name: "Azure filter", serve: say(400, "application/json", `{"error":{"code":"content_filter","message":"filtered"}}`), kind: retry.ContentFilter},
	}
}

// provider serves whatever fault it is set to.
func provider(t *testing.T) (*httptest.Server, *atomic.Pointer[fault]) {
	var now atomic.Pointer[fault]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // also lets the server see the client go
		now.Load().serve(w, r)
	}))
	t.Cleanup(server.Close)
	return server, &now
}

// TestFaultProvider covers issue 4's proof: each fault is a typed outcome in bounded time,
// streamed or not, and the next call works.
func TestFaultProvider(t *testing.T) {
	t.Parallel()
	for _, noStream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream %v", !noStream), func(t *testing.T) {
			t.Parallel()
			server, now := provider(t)
			patient := openai.Options{Options: modelhttp.Options{BaseURL: server.URL + "/v1", Model: "m", NoStream: noStream, MaxReply: 15 << 20, Key: func(context.Context) (string, error) { return "sk-secret12345", nil }}}
			hasty := patient
			hasty.IdleTimeout, hasty.EventTimeout = 300*time.Millisecond, 300*time.Millisecond
			hasty.FirstByteTimeout = 5 * time.Minute
			begun := openai.New(hasty) // in a hurry once an answer has begun
			hasty.FirstByteTimeout = 300 * time.Millisecond
			slow, fast := openai.New(patient), openai.New(hasty)
			for _, f := range faults() {
				if noStream && f.stream {
					continue
				}
				m := slow
				if f.kind == retry.StreamIdle { // only where time is what ends the call: a machine under load makes everything late
					m = fast
				} else if f.stalls {
					m = begun
				}
				now.Store(&f)
				checkFault(t, m, f, noStream)
			}
			_ = slow.Close()
			_ = fast.Close()
			_ = begun.Close()
		})
	}
}

func checkFault(t *testing.T, m *openai.Model, f fault, noStream bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var h heard
	reply, err := m.Generate(ctx, user("hi"), h.on)
	if strings.HasPrefix(f.name, "10 MB") || f.text == "" {
		h.text.Reset()
	}
	name := fmt.Sprintf("%s, noStream %v", f.name, noStream)
	if f.text != "" {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := reply.Message.TextContent(); got != f.text {
			t.Errorf("%s: text %.60q", name, got)
		}
		return
	}
	e := retry.As(err)
	switch {
	case e == nil:
		t.Errorf("%s: got %v, %v; want an error of kind %s", name, reply, err, f.kind)
	case e.Kind != f.kind || e.RetryAfter != f.wait:
		t.Errorf("%s: kind %s, retry after %v (%v); want %s, %v", name, e.Kind, e.RetryAfter, e, f.kind, f.wait)
	case e.Message == "" || e.Hint == "" || strings.Contains(e.Error(), "sk-secret") || strings.Contains(e.Error(), "<"):
		t.Errorf("%s: bad words: %q hint %q", name, e.Message, e.Hint)
	}
}

func TestRefusedConnection(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://user:pass@" + ln.Addr().String() + "/v1?key=hidden"
	ln.Close()
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: base, Model: "m"}})
	defer m.Close()
	_, err = m.Generate(t.Context(), user("hi"), nil)
	if e := retry.As(err); e == nil || e.Kind != retry.Transient || !strings.Contains(e.Hint, "nothing listens") || strings.Contains(e.Error(), "pass") || strings.Contains(e.Error(), "hidden") {
		t.Errorf("got %v", err)
	}
}

// TestAbortEndsTheCall covers protocol section 8: whatever the provider does, a cancelled
// call returns at once with the cause, and the provider sees the stream closed.
func TestAbortEndsTheCall(t *testing.T) {
	server, now := provider(t)
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL + "/v1", Model: "m"}})
	defer m.Close()
	cause := errors.New("the user aborted")
	for _, serve := range []func(http.ResponseWriter, *http.Request){stall, then("", stall), then(textPart, stall), then(textPart, repeat(": x\n\n")), then(callPart, repeat(textPart))} {
		gone, begun := make(chan struct{}), make(chan struct{})
		now.Store(&fault{serve: func(w http.ResponseWriter, r *http.Request) {
			defer close(gone)
			close(begun)
			serve(w, r)
		}})
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-begun; cancel(cause) }()
		if _, err := m.Generate(ctx, user("hi"), nil); !errors.Is(err, cause) {
			t.Errorf("got %v, want the cause", err)
		}
		select {
		case <-gone:
		case <-time.After(2 * time.Minute):
			t.Error("the provider's stream was not closed")
		}
	}
}

func TestToolCallFragments(t *testing.T) {
	frag := func(s string) string { return `{"choices":[{"index":0,"delta":{"tool_calls":[` + s + `]}}]}` }
	for _, c := range []struct {
		name  string
		parts []string
		want  string
	}{
		{"reordered", []string{`{"index":1,"id":"b","function":{"name":"two","arguments":"{\"b\""}}`, `{"index":0,"id":"a","function":{"name":"one","arguments":"{\"a\""}}`,
			`{"index":1,"function":{"arguments":":2}"}}`, `{"index":0,"function":{"arguments":":1}"}}`}, `a one {"a":1}; b two {"b":2}`},
		{"all of index 0", []string{`{"index":0,"id":"a","function":{"name":"one","arguments":"{\"a\":1}"}}`, `{"index":0,"id":"b","function":{"name":"two","arguments":"{\"b\":2}"}}`}, `a one {"a":1}; b two {"b":2}`},
		{"no index", []string{`{"id":"a","function":{"name":"one","arguments":"{\"a\":"}}`, `{"function":{"arguments":"1}"}}`, `{"id":"b","function":{"name":"two","arguments":"{}"}}`}, `a one {"a":1}; b two {}`},
		{"no index and no id", []string{`{"function":{"name":"one","arguments":"{\"a\":1}"}}`, `{"function":{"name":"two","arguments":"{}"}}`}, ` one {"a":1};  two {}`},
		{"string index", []string{`{"index":"0","id":"a","function":{"name":"one","arguments":"{}"}}`}, `a one {}`},
		{"object arguments", []string{`{"index":0,"id":"a","function":{"name":"one","arguments":{"a":1}}}`}, `a one {"a":1}`},
		{"name with each fragment", []string{`{"index":0,"id":"a","function":{"name":"one","arguments":"{\"a\":"}}`, `{"index":0,"id":"a","function":{"name":"one","arguments":"1}"}}`}, `a one {"a":1}`},
		{"name in pieces", []string{`{"index":0,"id":"a","function":{"name":"read"}}`, `{"index":0,"function":{"name":"_file"}}`, `{"index":0,"function":{"arguments":"{}"}}`}, `a read_file {}`},
		{"no arguments", []string{`{"index":0,"id":"a","function":{"name":"one"}}`}, `a one {}`},
		{"broken arguments", []string{`{"index":0,"id":"a","function":{"name":"one","arguments":"{oops"}}`}, `a one {} raw {oops`},
	} {
		var stream strings.Builder
		for _, p := range c.parts {
			stream.WriteString("data: " + frag(p) + "\n\n")
		}
		stream.WriteString(`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" + done)
		reply := answer(t, openai.Options{}, stream.String())
		var got []string
		for _, k := range reply.Message.ToolCalls() {
			s := k.ID + " " + k.Name + " " + string(k.Args)
			if k.Raw != "" {
				s += " raw " + k.Raw
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.name, s, c.want)
		}
	}
}

// answer has a model read a body.
func answer(t *testing.T, opts openai.Options, body string) *agent.Reply {
	t.Helper()
	server, now := provider(t)
	now.Store(&fault{serve: say(200, sse, body)})
	opts.BaseURL = server.URL + "/v1"
	if opts.Model == "" {
		opts.Model = "m"
	}
	m := openai.New(opts)
	defer m.Close()
	var h heard
	reply, err := m.Generate(t.Context(), user("hi"), h.on)
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.Message.TextContent(); got != h.text.String() {
		t.Errorf("the deltas put together are %q, the text is %q", h.text.String(), got)
	}
	return reply
}

func TestDeltasEndAtRuneBorders(t *testing.T) {
	server, now := provider(t)
	body := "data: {\"choices\":[{\"delta\":{\"content\":\"a\xe2\x82\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\xac \\ud83d\"}}]}\n\n" +
		"data: {\"choices\":[{\"delta\":{\"content\":\"\\ude00 \\ud83d x\xff\xf0\x9f\"},\"finish_reason\":\"stop\"}]}\n\n" + done
	now.Store(&fault{serve: say(200, sse, body)})
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m"}})
	defer m.Close()
	var pieces []string
	reply, err := m.Generate(t.Context(), user("hi"), func(d agent.Delta) { pieces = append(pieces, d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	want := "a€ 😀 \uFFFD x\uFFFD\uFFFD"
	if got := strings.Join(pieces, ""); got != want || reply.Message.TextContent() != want {
		t.Errorf("got %q, want %q", pieces, want)
	}
	for _, p := range pieces {
		if strings.ToValidUTF8(p, "?") != p {
			t.Errorf("the delta %q is no UTF-8", p)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	for finish, want := range map[string]message.StopReason{
		"stop": message.StopEnd, "length": message.StopLength, "max_tokens": message.StopLength, "content_filter": message.StopContentFilter,
		"end_turn": message.StopEnd, "tool_calls": message.StopEnd, "SAFETY": message.StopContentFilter, "STOP": message.StopEnd, "eos_token": message.StopEnd, "something_new": message.StopUnknown,
	} {
		reply := answer(t, openai.Options{}, `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"`+finish+`"}]}`+"\n\n"+done)
		if reply.Message.Stop != want || reply.Finish != finish {
			t.Errorf("%s: stop %s, finish %s", finish, reply.Message.Stop, reply.Finish)
		}
	}
}

func TestKeyIsAskedBeforeEveryCallAndItsErrorShown(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization")+" "+r.URL.RawQuery+" "+r.Header.Get("X-Own"))
		say(200, sse, sound)(w, r)
	}))
	defer server.Close()
	n := 0
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m", Headers: map[string]string{"X-Own": "1"}, Query: map[string]string{"api-version": "v1"}, Key: func(context.Context) (string, error) {
		if n++; n == 3 {
			return "", errors.New("the vault is locked")
		}
		return fmt.Sprintf("k%d\n", n), nil
	}}})
	defer m.Close()
	for range 2 {
		if _, err := m.Generate(t.Context(), user("hi"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 2 || seen[0] != "Bearer k1 api-version=v1 1" || seen[1] != "Bearer k2 api-version=v1 1" {
		t.Errorf("seen %q", seen)
	}
	_, err := m.Generate(t.Context(), user("hi"), nil)
	if e := retry.As(err); e == nil || e.Kind != retry.Auth || !strings.Contains(e.Error(), "the vault is locked") {
		t.Errorf("got %v", err)
	}
}

// TestConnectionIsUsedAgain: the rest of a stream after its end mark is read in the background, without holding up the reply.
func TestConnectionIsUsedAgain(t *testing.T) {
	var opened atomic.Int32
	end := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(then(sound, func(http.ResponseWriter, *http.Request) { <-end })))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m"}})
	for range 5 {
		if _, err := m.Generate(t.Context(), user("hi"), nil); err != nil {
			t.Fatal(err)
		}
		end <- struct{}{}
		m.Settle()
	}
	_ = m.Close()
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for 5 calls", n)
	}
}
