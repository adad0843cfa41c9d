package modeltest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// Secret is the API key in the fault tests. No error may contain it.
const Secret = "sk-secret-0123456789"

// Model is the interface that the models of all adapters implement.
type Model interface {
	agent.Model
	Models(ctx context.Context) ([]agent.ModelInfo, error)
	Close() error
}

// API describes an adapter and its API for the fault tests.
type API struct {
	New   func(modelhttp.Options) Model
	Begin string // sent before the first event of a reply
	Text  string // the event with the text "Hello "
	Rest  string // the event with the text "world"
	End   string // the events with the finish reason
	Done  string // the end marker; "" if the reply ends with End
	Call  string // the beginning of a tool call
	Whole string // the whole reply as an answer that is not streamed
	More  []Fault
}

// Sound returns the complete stream of the reply "Hello world".
func (a *API) Sound() string { return a.Begin + a.Text + a.Rest + a.End + a.Done }

// Fault is one way in which a call can fail. The expected outcome is either an error of the kind
// Kind or a reply with the text Text.
type Fault struct {
	Name   string
	Serve  Handler
	Kind   retry.Kind
	Text   string
	Wait   time.Duration // the expected value of RetryAfter
	Slack  time.Duration // allowed deviation from Wait
	Stream bool          // whether the fault applies only to streams
	Says   string        // expected beginning of the message; "" means any message
	// Stalls means that the status determines the outcome, but the client must stop waiting for the
	// rest of the answer.
	Stalls bool
}

// failure returns an error body in the format that most APIs use.
func failure(text string) string { return `{"error":{"message":"` + text + `"}}` }

// Faults returns the faults to test: those common to all APIs, and those of this API.
func (a *API) Faults() []Fault {
	list := append(a.connectionFaults(), a.streamFaults()...)
	return append(append(append(list, a.answerFaults()...), statusFaults()...), a.More...)
}

// connectionFaults returns stalls and interrupted connections.
func (a *API) connectionFaults() []Fault {
	text, call := a.Begin+a.Text, a.Begin+a.Call
	return []Fault{
		{Name: "resets immediately", Serve: Reset, Kind: retry.Transient},
		{Name: "stalls before the answer", Serve: Stall, Kind: retry.StreamIdle},
		{Name: "stalls after the headers", Serve: Then("", Stall), Kind: retry.StreamIdle},
		{Name: "stalls in the text", Serve: Then(text, Stall), Kind: retry.StreamIdle},
		{Name: "stalls in a call", Serve: Then(call, Stall), Kind: retry.StreamIdle},
		{Name: "resets in the text", Serve: Then(text, Reset), Kind: retry.Truncated},
		{Name: "resets in a call", Serve: Then(call, Reset), Kind: retry.Truncated},
		{Name: "ends after the text", Serve: Say(200, SSE, text), Kind: retry.Truncated},
		{Name: "ends in a call", Serve: Say(200, SSE, call), Kind: retry.Truncated},
		{Name: "ends in mid-JSON", Serve: Say(200, SSE, text+a.Text[:len(a.Text)-6]),
			Kind: retry.Truncated},
		{Name: "ends in mid-UTF-8", Serve: Say(200, SSE, text+
			a.Text[:strings.Index(a.Text, "Hello")]+"\xe2\x82"), Kind: retry.Truncated},
		{Name: "empty body", Serve: Say(200, SSE, ""), Kind: retry.Truncated},
		{Name: "comments without end", Serve: Then("", Repeat(": PROCESSING\n\n")),
			Kind: retry.StreamIdle},
		{Name: "comments without end after text", Serve: Then(text, Repeat(": PROCESSING\n\n")),
			Kind: retry.StreamIdle},
		{Name: "an event without end", Serve: Then(text, Repeat("x")), Kind: retry.StreamIdle},
	}
}

// streamFaults returns streams that are unusual but complete, streams that are too long, and
// streams with an error.
func (a *API) streamFaults() []Fault {
	big := strings.Repeat("0123456789abcdef", 10<<20/16)
	whole := func(s string) string {
		return strings.Replace(a.Begin+a.Text+a.End+a.Done, "Hello ",
			s, 1)
	}
	const text = "Hello world"
	comments := strings.Repeat(": PROCESSING\n\n", 1000)
	return []Fault{
		{Name: "sound", Serve: Say(200, SSE, a.Sound()), Text: text},
		{Name: "last event without newline", Serve: Say(200, SSE, strings.TrimSpace(a.Sound())),
			Text: text},
		{Name: "trickles", Serve: Slowly(a.Sound()), Text: text},
		{Name: "stalls after its end", Serve: Then(a.Sound(), Stall), Text: text},
		{Name: "sends comments after its end", Serve: Then(a.Sound(), Repeat(": ping\n\n")),
			Text: text},
		{Name: "repeats its end", Serve: Say(200, SSE, a.Sound()+a.End+a.Done), Text: text},
		{Name: "repeats the whole stream after its end", Serve: Say(200, SSE, a.Sound()+a.Sound()),
			Text: text},
		{Name: "comments before and between",
			Serve: Say(200, SSE, comments+a.Begin+a.Text+comments+a.Rest+a.End+a.Done), Text: text},
		{Name: "10 MB delta", Serve: Say(200, SSE, whole(big)), Text: big},
		{Name: "longer than allowed", Serve: Say(200, SSE, whole(big+big)), Kind: retry.Client},
		{Name: "events that are not JSON", Serve: Say(200, SSE, "data: hello\n\n"+a.Done),
			Kind: retry.Truncated},
		{Name: "error as first event",
			Serve: Say(200, SSE, `data: { "error": {"message":"busy","code":503}}`+"\n\n"),
			Kind:  retry.Overloaded},
		{Name: "error text event", Serve: Say(200, SSE, `data: {"error":"model overloaded"}`+"\n\n"+
			a.Done), Kind: retry.Overloaded},
		{Name: "event: error", Serve: Say(200, SSE, a.Begin+a.Text+
			"event: error\ndata: {\"type\":\"overloaded_error\",\"message\":\"x\"}\n\n"),
			Kind: retry.Overloaded, Stream: true},
		{Name: "event: error in words",
			Serve: Say(200, SSE, a.Begin+a.Text+"event: error\ndata: rate limit reached\n\n"),
			Kind:  retry.RateLimit, Stream: true},
	}
}

// answerFaults returns answers in a format other than the requested one.
func (a *API) answerFaults() []Fault {
	page := "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>"
	return []Fault{
		{Name: "wrong content type", Serve: Say(200, "application/octet-stream", a.Sound()),
			Text: "Hello world"},
		{Name: "JSON in place of a stream", Serve: Say(200, "application/json", a.Whole),
			Text: "Hello world"},
		{Name: "200 with an error body",
			Serve: Say(200, "application/json",
				"{\n\"error\": {\"message\":\"no such model\",\"code\":404}}"), Kind: retry.Client},
		{Name: "HTML", Serve: Say(200, "text/html", page), Kind: retry.Client},
		{Name: "HTML that claims to be a stream", Serve: Say(200, SSE, "\n "+page),
			Kind: retry.Client},
		{Name: "HTML gateway error", Serve: Say(502, "text/html", page), Kind: retry.Transient},
		{Name: "redirect to a page", Serve: Say(302, "text/html", page, "Location", "/login"),
			Kind: retry.Client},
		{Name: "redirect with a stream", Serve: Say(302, SSE, a.Sound(), "Location", "/login"),
			Kind: retry.Client},
	}
}

// statusFaults returns answers with an error status.
func statusFaults() []Fault {
	say := func(status int, body string, header ...string) Handler {
		return Say(status, "application/json", body, header...)
	}
	stall := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	return []Fault{
		{Name: "400", Serve: say(400, failure("unknown field")), Kind: retry.Client},
		{Name: "401", Serve: say(401, failure("Incorrect API key provided: "+Secret)),
			Kind: retry.Auth},
		{Name: "404", Serve: Say(404, "text/plain", "404 page not found"), Kind: retry.Client},
		{Name: "413 of a proxy", Serve: Say(413, "text/html", "<html><body>Entity</body></html>"),
			Kind: retry.ContextOverflow},
		{Name: "429", Serve: say(429, failure("slow down")), Kind: retry.RateLimit},
		{Name: "429 Retry-After", Serve: say(429, failure("slow down"), "Retry-After", "9"),
			Kind: retry.RateLimit, Wait: 9 * time.Second},
		{Name: "429 quota", Serve: say(429,
			`{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`),
			Kind: retry.Quota},
		{
			Name: "500", Serve: say(500, failure("oops")),
			Kind: retry.Transient, Says: "HTTP 500 from 127.0.0.1:",
		},
		{Name: "500 Retry-After", Serve: say(500, `{}`, "Retry-After", "3"), Kind: retry.Transient,
			Wait: 3 * time.Second},
		{Name: "529", Serve: say(529, `{"type":"error","error":{"type":"overloaded_error",`+
			`"message":"Overloaded"}}`), Kind: retry.Overloaded},
		{Name: "529 Retry-After", Serve: say(529, failure("busy"), "Retry-After", "2"),
			Kind: retry.Overloaded, Wait: 2 * time.Second},
		{Name: "error body that stalls", Serve: stall, Kind: retry.Transient, Stalls: true},
		{Name: "context overflow", Serve: say(400,
			`{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 100000 tokens"}}`), Kind: retry.ContextOverflow},
	}
}

// CheckFaults checks that each fault has a typed outcome in bounded time, streamed or not, and that
// the next call succeeds.
func CheckFaults(t *testing.T, a *API) {
	for _, noStream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream %v", !noStream), func(t *testing.T) {
			t.Parallel()
			p := NewProvider(t)
			patient := modelhttp.Options{
				BaseURL: p.URL + "/v1", Model: "m", NoStream: noStream, MaxReply: 15 << 20,
				Key: KeyOf(Secret),
			}
			hasty := patient
			hasty.IdleTimeout, hasty.EventTimeout = 300*time.Millisecond, 300*time.Millisecond
			hasty.FirstByteTimeout = 5 * time.Minute
			begun := a.New(hasty) // with a short timeout only after an answer has begun
			hasty.FirstByteTimeout = 300 * time.Millisecond
			slow, fast := a.New(patient), a.New(hasty)
			for _, f := range a.Faults() {
				if noStream && f.Stream {
					continue
				}
				m := slow
				// Only the faults that expect a timeout use a model with short timeouts, because
				// everything is slow on a busy machine.
				switch {
				case f.Kind == retry.StreamIdle:
					m = fast
				case f.Stalls:
					m = begun
				}
				p.Set(f.Serve)
				checkFault(t, m, &f, noStream)
			}
			_ = slow.Close()
			_ = fast.Close()
			_ = begun.Close()
		})
	}
}

func checkFault(t *testing.T, m agent.Model, f *Fault, noStream bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	reply, err := m.Generate(ctx, User("hi"), func(agent.Delta) {})
	name := fmt.Sprintf("%s, noStream %v", f.Name, noStream)
	if f.Text != "" {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := reply.Message.TextContent(); got != f.Text {
			t.Errorf("%s: text %.60q", name, got)
		}
		return
	}
	e := retry.As(err)
	switch {
	case e == nil:
		t.Errorf("%s: got %v, %v; want an error of kind %s", name, reply, err, f.Kind)
	case e.Kind != f.Kind || (e.RetryAfter-f.Wait).Abs() > f.Slack:
		t.Errorf("%s: kind %s, retry after %v (%v); want %s, %v",
			name, e.Kind, e.RetryAfter, e, f.Kind, f.Wait)
	case !strings.HasPrefix(e.Message, f.Says):
		t.Errorf("%s: the message %q does not begin with %q", name, e.Message, f.Says)
	case e.Message == "" || e.Hint == "" || strings.Contains(e.Error(), "sk-secret") ||
		strings.Contains(e.Error(), "<"):
		t.Errorf("%s: unsuitable message %q with hint %q", name, e.Message, e.Hint)
	}
}

// CheckAbort checks that a canceled call returns the cause, whatever the provider does, and that
// the provider sees the connection close.
func CheckAbort(t *testing.T, a *API) {
	p := NewProvider(t)
	m := a.New(modelhttp.Options{BaseURL: p.URL + "/v1", Model: "m"})
	defer m.Close()
	cause := errors.New("the user aborted")
	text := a.Begin + a.Text
	for _, serve := range []Handler{
		Stall, Then("", Stall), Then(text, Stall), Then(text, Repeat(": x\n\n")),
		Then(a.Begin+a.Call, Repeat(a.Text)),
	} {
		gone, begun := make(chan struct{}), make(chan struct{})
		p.Set(func(w http.ResponseWriter, r *http.Request) {
			defer close(gone)
			close(begun)
			serve(w, r)
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-begun; cancel(cause) }()
		if _, err := m.Generate(ctx, User("hi"), nil); !errors.Is(err, cause) {
			t.Errorf("got %v, want the cause", err)
		}
		select {
		case <-gone:
		case <-time.After(2 * time.Minute):
			t.Error("the provider's stream was not closed")
		}
	}
}
