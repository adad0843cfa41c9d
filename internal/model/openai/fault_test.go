package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// Pieces of the stream that a working provider sends.
const (
	sse      = "text/event-stream"
	textPart = `data: {"choices":[{"index":0,"delta":{"content":"Hello "}}]}` + "\n\n"
	lastPart = `data: {"choices":[{"index":0,"delta":{"content":"world"},` +
		`"finish_reason":"stop"}]}` + "\n\n"
	callPart = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1",` +
		`"function":{"name":"read","arguments":"{\"pa"}}]}}]}` + "\n\n"
	done  = "data: [DONE]\n\n"
	sound = textPart + lastPart + done
	whole = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello world"},` +
		`"finish_reason":"stop"}]}`
)

// reorderedCalls is a reply with two calls in which the pieces of the second call arrive first.
var reorderedCalls = `data: {"choices":[{"index":0,"delta":{"content":"Hello world"}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{` +
	`"name":"look","arguments":"{\"at\""}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{` +
	`"name":"look","arguments":"{\"at\""}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{` +
	`"arguments":":2}"}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{` +
	`"arguments":":1}"}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" + done

// chatAPI describes the chat API for the fault tests.
var chatAPI = &modeltest.API{
	New: func(o modelhttp.Options) modeltest.Model {
		return openai.New(openai.Options{Options: o})
	},
	Text:  textPart,
	Rest:  `data: {"choices":[{"index":0,"delta":{"content":"world"}}]}` + "\n\n",
	End:   `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n",
	Done:  done,
	Call:  callPart,
	Whole: whole,
	More:  chatFaults(),
}

// chatFaults returns the faults that are specific to the chat API.
func chatFaults() []modeltest.Fault {
	say := func(body string) modeltest.Handler { return modeltest.Say(200, sse, body) }
	const text, role = "Hello world",
		`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"
	return []modeltest.Fault{
		{Name: "ends without its mark but with its reason", Serve: say(textPart + lastPart),
			Text: text},
		{Name: "repeats its beginning", Serve: say(role + role + sound), Text: text},
		{Name: "reorders the fragments of calls", Serve: say(reorderedCalls), Text: text,
			Stream: true},
		{Name: "only the end mark", Serve: say(done), Kind: retry.Transient},
		{Name: "empty choices", Serve: say(`data: {"choices":[]}` + "\n\n" + done),
			Kind: retry.Transient},
		{Name: "null choices", Serve: say(`data: {"choices":null}` + "\n\n" + done),
			Kind: retry.Transient},
		{Name: "empty choices before the first",
			Serve: say(`data: {"choices":[],"prompt_filter_results":[]}` + "\n\n" + sound),
			Text:  text},
		{Name: "error within a choice",
			Serve: say(`data: {"choices":[{"delta":{},"error":{"code":502,"message":"upstream"},` +
				`"finish_reason":"error"}]}` + "\n\n" + done), Kind: retry.Transient},
		{Name: "Azure filter", Serve: modeltest.Say(400, "application/json",
			`{"error":{"code":"content_filter","message":"filtered"}}`), Kind: retry.ContentFilter},
	}
}

// TestFaultProvider checks that each fault has a typed outcome in bounded time, streamed or not,
// and that the next call succeeds.
func TestFaultProvider(t *testing.T) {
	t.Parallel()
	modeltest.CheckFaults(t, chatAPI)
}

// TestFaultPhases checks each fault in the phases of a turn to which it applies.
func TestFaultPhases(t *testing.T) {
	t.Parallel()
	modeltest.CheckPhases(t, chatAPI)
}

// TestAbortEndsTheCall checks that a canceled call returns immediately (protocol 3.3).
func TestAbortEndsTheCall(t *testing.T) { modeltest.CheckAbort(t, chatAPI) }

func TestRefusedConnection(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://user:pass@" + ln.Addr().String() + "/v1?key=hidden"
	ln.Close()
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: base, Model: "m"}})
	defer m.Close()
	_, err = m.Generate(t.Context(), modeltest.User("hi"), nil)
	if e := retry.As(err); e == nil || e.Kind != retry.Transient ||
		!strings.Contains(e.Hint, "nothing is listening") || strings.Contains(e.Error(), "pass") ||
		strings.Contains(e.Error(), "hidden") {
		t.Errorf("got %v", err)
	}
}

func TestToolCallFragments(t *testing.T) {
	frag := func(s string) string {
		return `{"choices":[{"index":0,"delta":{"tool_calls":[` + s +
			`]}}]}`
	}
	for _, c := range []struct {
		name  string
		parts []string
		want  string
	}{
		{"reordered", []string{`{"index":1,"id":"b","function":{"name":"two","arguments":"{` +
			`\"b\""}}`, `{"index":0,"id":"a","function":{"name":"one","arguments":"{\"a\""}}`,
			`{"index":1,"function":{"arguments":":2}"}}`,
			`{"index":0,"function":{"arguments":":1}"}}`}, `a one {"a":1}; b two {"b":2}`},
		{"all of index 0", []string{`{"index":0,"id":"a","function":{"name":"one","arguments":"{` +
			`\"a\":1}"}}`, `{"index":0,"id":"b","function":{"name":"two","arguments":"{\"b\":2}` +
			`"}}`}, `a one {"a":1}; b two {"b":2}`},
		{"no index", []string{`{"id":"a","function":{"name":"one","arguments":"{\"a\":"}}`,
			`{"function":{"arguments":"1}"}}`,
			`{"id":"b","function":{"name":"two","arguments":"{}"}}`}, `a one {"a":1}; b two {}`},
		{"no index and no id", []string{`{"function":{"name":"one","arguments":"{\"a\":1}"}}`,
			`{"function":{"name":"two","arguments":"{}"}}`}, ` one {"a":1};  two {}`},
		{"string index", []string{`{"index":"0","id":"a","function":{"name":"one","arguments":"{` +
			`}"}}`}, `a one {}`},
		{"object arguments", []string{`{"index":0,"id":"a","function":{"name":"one",` +
			`"arguments":{"a":1}}}`}, `a one {"a":1}`},
		{"name with each fragment", []string{`{"index":0,"id":"a","function":{"name":"one",` +
			`"arguments":"{\"a\":"}}`, `{"index":0,"id":"a","function":{"name":"one",` +
			`"arguments":"1}"}}`}, `a one {"a":1}`},
		{"name in pieces", []string{`{"index":0,"id":"a","function":{"name":"read"}}`,
			`{"index":0,"function":{"name":"_file"}}`, `{"index":0,"function":{"arguments":"{}"}}`},
			`a read_file {}`},
		{"no arguments", []string{`{"index":0,"id":"a","function":{"name":"one"}}`}, `a one {}`},
		{"broken arguments", []string{`{"index":0,"id":"a","function":{"name":"one",` +
			`"arguments":"{oops"}}`}, `a one {} raw {oops`},
	} {
		var stream strings.Builder
		for _, p := range c.parts {
			stream.WriteString("data: " + frag(p) + "\n\n")
		}
		stream.WriteString(`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` +
			"\n\n" + done)
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

// answer returns the reply that a model decodes from a body.
func answer(t *testing.T, opts openai.Options, body string) *agent.Reply {
	t.Helper()
	server := modeltest.NewProvider(t)
	server.Set(modeltest.Say(200, sse, body))
	opts.BaseURL = server.URL + "/v1"
	if opts.Model == "" {
		opts.Model = "m"
	}
	m := openai.New(opts)
	defer m.Close()
	var h heard
	reply, err := m.Generate(t.Context(), modeltest.User("hi"), h.on)
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.Message.TextContent(); got != h.text.String() {
		t.Errorf("the joined deltas are %q, the text is %q", h.text.String(), got)
	}
	return reply
}

func TestDeltasEndAtRuneBorders(t *testing.T) {
	server := modeltest.NewProvider(t)
	body := "data: {\"choices\":[{\"delta\":{\"content\":\"a\xe2\x82\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\xac \\ud83d\"}}]}\n\n" +
		"data: {\"choices\":[{\"delta\":{\"content\":\"\\ude00 \\ud83d x\xff\xf0\x9f\"},\"finish_reason\":\"stop\"}]}\n\n" + done
	server.Set(modeltest.Say(200, sse, body))
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m"}})
	defer m.Close()
	var pieces []string
	reply, err := m.Generate(t.Context(), modeltest.User("hi"),
		func(d agent.Delta) { pieces = append(pieces, d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	want := "a€ 😀 \uFFFD x\uFFFD\uFFFD"
	if got := strings.Join(pieces, ""); got != want || reply.Message.TextContent() != want {
		t.Errorf("got %q, want %q", pieces, want)
	}
	for _, p := range pieces {
		if strings.ToValidUTF8(p, "?") != p {
			t.Errorf("the delta %q is not UTF-8", p)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	for finish, want := range map[string]message.StopReason{
		"stop": message.StopEnd, "length": message.StopLength, "max_tokens": message.StopLength,
		"content_filter": message.StopContentFilter,
		"end_turn":       message.StopEnd, "tool_calls": message.StopEnd,
		"SAFETY": message.StopContentFilter, "STOP": message.StopEnd, "eos_token": message.StopEnd,
		"something_new": message.StopUnknown,
	} {
		reply := answer(t, openai.Options{},
			`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"`+finish+`"}]}`+"\n\n"+
				done)
		if reply.Message.Stop != want || reply.Finish != finish {
			t.Errorf("%s: stop %s, finish %s", finish, reply.Message.Stop, reply.Finish)
		}
	}
}

func TestKeyIsAskedBeforeEveryCallAndItsErrorShown(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization")+" "+r.URL.RawQuery+" "+
			r.Header.Get("X-Own"))
		modeltest.Say(200, sse, sound)(w, r)
	}))
	defer server.Close()
	n := 0
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m",
		Headers: map[string]string{"X-Own": "1"}, Query: map[string]string{"api-version": "v1"},
		Key: func(context.Context) (string, error) {
			if n++; n == 3 {
				return "", errors.New("the vault is locked")
			}
			return fmt.Sprintf("k%d\n", n), nil
		}}})
	defer m.Close()
	for range 2 {
		if _, err := m.Generate(t.Context(), modeltest.User("hi"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 2 || seen[0] != "Bearer k1 api-version=v1 1" ||
		seen[1] != "Bearer k2 api-version=v1 1" {
		t.Errorf("seen %q", seen)
	}
	_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
	if e := retry.As(err); e == nil || e.Kind != retry.Auth ||
		!strings.Contains(e.Error(), "the vault is locked") {
		t.Errorf("got %v", err)
	}
}

// TestConnectionIsUsedAgain checks that the bytes after a stream's end marker are read in the
// background without delaying the reply, so that the connection can be reused.
func TestConnectionIsUsedAgain(t *testing.T) {
	var opened atomic.Int32
	end := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(modeltest.Then(sound,
		func(http.ResponseWriter, *http.Request) { <-end })))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m"}})
	for range 5 {
		if _, err := m.Generate(t.Context(), modeltest.User("hi"), nil); err != nil {
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
