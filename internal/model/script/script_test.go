package script_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
	"github.com/agent-lsp/agent-lsp/internal/model/script"
)

// both returns a model for the chat API and one for the responses API. Each model has its own copy
// of the script.
func both(t *testing.T, lines ...string) map[string]agent.Model {
	t.Helper()
	load := func() *script.Script {
		s, err := script.Load(strings.NewReader(strings.Join(lines, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ways := map[string]agent.Model{}
	for _, api := range []string{openai.APIChat, openai.APIResponses} {
		server, err := script.Serve(load())
		if err != nil {
			t.Fatal(err)
		}
		over := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL(),
			Model: "script"}, API: api})
		t.Cleanup(func() { over.Close(); server.Close() })
		ways[api] = over
	}
	return ways
}

func text(role message.Role, s string) *message.Message { return message.NewText(role, s) }

func ask(m agent.Model, messages ...*message.Message) (*agent.Reply, error) {
	return m.Generate(context.Background(), &agent.Request{Messages: messages}, nil)
}

func calls(ids ...string) *message.Message {
	m := &message.Message{Role: message.RoleAssistant}
	for _, id := range ids {
		m.Content = append(m.Content, message.Block{Type: message.ToolUse,
			Call: &message.ToolCall{ID: id, Name: "read", Args: []byte("{}")}})
	}
	return m
}

func result(id, s string) *message.Message {
	m := text(message.RoleTool, s)
	m.CallID, m.Name = id, "read"
	return m
}

// TestErrorsNameTheLine checks that the error for an invalid script names the line.
func TestErrorsNameTheLine(t *testing.T) {
	for in, want := range map[string]string{
		"{\"text\":\"a\"}\n{oops}":                         "line 2",
		"\n\n{\"txt\":1}":                                  "line 3",
		`{"expect":{"lastUser":"("}}`:                      "line 1: expect.lastUser",
		`{"text":"a"} {"text":"b"}`:                        "more than one",
		`{"text":1}`:                                       "line 1",
		"{\"text\":\"a\"}\n{\"window\":5}":                 "line 2",
		`{"error":{"status":99}}`:                          "error.status",
		`{"chunks":-1}`:                                    "negative",
		`{"text":"ab","repeat":99999999}`:                  "repeat",
		`{"drop":"half"}`:                                  "drop",
		`{"expect":{"request":"("}}`:                       "expect.request",
		`{"when":{"notSent":"("}}`:                         "when.notSent",
		"{\"text\":\"a\"}\n" + strings.Repeat("x", 33<<20): "line 2",
	} {
		if _, err := script.Load(strings.NewReader(in)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", in, err, want)
		}
	}
	for name, m := range both(t, "// a comment", "", `{"text":"a"}`+"\r") {
		if r, err := ask(m, text(message.RoleUser, "hi")); err != nil ||
			r.Message.TextContent() != "a" {
			t.Errorf("comment and blank lines, %s: %v, %v", name, r, err)
		}
	}
}

func TestExpect(t *testing.T) {
	for name, m := range both(t, `{"expect":{"lastUser":"fix.*bug"},`+
		`"toolCalls":[{"id":"c1","name":"read","arguments":{"path":"a"}}]}`, `{"expect":{`+
		`"lastTool":"^ok$"},"text":"done"}`) {
		if _, err := ask(m, text(message.RoleUser, "hello")); retry.As(err) == nil ||
			retry.As(err).Kind != retry.Script || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: a mismatch is %v", name, err)
		}
		u := text(message.RoleUser, "fix the bug")
		r, err := ask(m, u) // a mismatch does not advance the cursor
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r, err = ask(m, u, r.Message, result("c1", "ok"))
		if err != nil || r.Message.TextContent() != "done" {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		if _, err := ask(m, u); retry.As(err) == nil || retry.As(err).Kind != retry.Script ||
			!strings.Contains(err.Error(), "has only 2 replies") {
			t.Errorf("%s: the end is %v", name, err)
		}
	}
}

// A script can check all parts of a request, including the system prompt.
func TestExpectSent(t *testing.T) {
	for name, m := range both(t, `{"expect":{"sent":"(?s)be kind.*first.*answer.*second"},`+
		`"text":"a"}`, `{"expect":{"notSent":"first"},"text":"b"}`) {
		req := &agent.Request{System: []agent.SystemBlock{{Text: "be kind"}},
			Messages: []*message.Message{text(message.RoleUser, "first")}}
		if _, err := m.Generate(t.Context(), req, nil); err == nil ||
			!strings.Contains(err.Error(), "sent text") {
			t.Errorf("%s: %v", name, err)
		}
		req.Messages = append(req.Messages, text(message.RoleAssistant, "answer"),
			text(message.RoleUser, "second"))
		if _, err := m.Generate(t.Context(), req, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := m.Generate(t.Context(), req, nil); err == nil ||
			!strings.Contains(err.Error(), `"first" does`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A script can check the parameters and the path of a request.
func TestExpectRequest(t *testing.T) {
	line := `{"expect":{"request":"^/v1/\\S+\\n.*\"temperature\":0[,}]"},"text":"a"}`
	for name, m := range both(t, line) {
		req := &agent.Request{Messages: []*message.Message{text(message.RoleUser, "first")}}
		if _, err := m.Generate(t.Context(), req, nil); err == nil ||
			!strings.Contains(err.Error(), "the request to match") {
			t.Errorf("%s: %v", name, err)
		}
		req.Sampling.Temperature = new(0.)
		if _, err := m.Generate(t.Context(), req, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A stalled reply ends when the caller stops waiting.
func TestStall(t *testing.T) {
	for name, m := range both(t, `{"text":"half","stall":true}`) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("enough")
		_, err := m.Generate(ctx, &agent.Request{Messages: []*message.Message{text(message.RoleUser,
			"hi")}}, func(agent.Delta) { cancel(gone) })
		if !errors.Is(err, gone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A line with "when" is used for the first request that matches it. The other lines are played in
// order.
func TestWhen(t *testing.T) {
	for name, m := range both(t, `{"when":{"lastUser":"^b$"},"text":"for b"}`, `{"text":"first"}`,
		`{"when":{"lastUser":"^a$"},"text":"for a"}`, `{"text":"second"}`) {
		var got []string
		for _, prompt := range []string{"a", "x", "a", "b"} {
			r, err := ask(m, text(message.RoleUser, prompt))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, r.Message.TextContent())
		}
		if strings.Join(got, ", ") != "for a, first, second, for b" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestStrict checks that the strict endpoint rejects the requests that real providers reject.
func TestStrict(t *testing.T) {
	u, a := text(message.RoleUser, "hi"), text(message.RoleAssistant, "yes")
	long := text(message.RoleUser, strings.Repeat("word ", 1000))
	badName := calls("c1")
	badName.Content[0].Call.Name = "a b"
	for _, c := range []struct {
		name     string
		messages []*message.Message
		want     retry.Kind
	}{
		{"sound", []*message.Message{u, calls("c1", "c2"), result("c2", "x"), result("c1", "y")},
			""},
		{"a call without a result", []*message.Message{u, calls("c1", "c2"), result("c1", "x"), u},
			retry.Client},
		{"a call without a result at the end", []*message.Message{u, calls("c1")}, retry.Client},
		{"a result without a call", []*message.Message{u, a, result("c1", "x")}, retry.Client},
		{"two results of a call", []*message.Message{u, calls("c1"), result("c1", "x"),
			result("c1", "x")}, retry.Client},
		{"an id used twice", []*message.Message{u, calls("c1"), result("c1", "x"), calls("c1"),
			result("c1", "x")}, retry.Client},
		{"the assistant first", []*message.Message{a, u}, retry.Client},
		{"the assistant last", []*message.Message{u, a}, retry.Client},
		{"a repaired name", []*message.Message{u, badName, result("c1", "x")}, ""},
		{"overflow", []*message.Message{long}, retry.ContextOverflow},
	} {
		for name, m := range both(t, `{"window":1000}`, `{"text":"ok"}`) {
			_, err := ask(m, c.messages...)
			if e := retry.As(err); (c.want == "") != (err == nil) || e != nil && e.Kind != c.want {
				t.Errorf("%s, %s: got %v, want %q", c.name, name, err, c.want)
			}
		}
		for name, m := range both(t, `{"strict":false}`, `{"text":"ok"}`) {
			if _, err := ask(m, c.messages...); err != nil {
				t.Errorf("%s, %s, lenient: %v", c.name, name, err)
			}
		}
	}
}

// TestStrictNames checks that the strict endpoint rejects names in an invalid format, with the chat
// API and the responses API.
func TestStrictNames(t *testing.T) {
	server := modeltest.Play(t, `{"text":"ok"}`, `{"text":"ok"}`)
	post := func(path, body string) int {
		r, err := http.Post(server.URL()+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r.StatusCode
	}
	for name, want := range map[string]int{"a_b": 200, "a b": 400} {
		chat := fmt.Sprintf(`{"messages":[{"role":"user","content":"hi"},{"role":"assistant",`+
			`"tool_calls":[{"id":"c","type":"function","function":{"name":%q,"arguments":"{}"}}]},`+
			`{"role":"tool","tool_call_id":"c","content":"x"}]}`, name)
		items := fmt.Sprintf(`{"input":[{"role":"user","content":"hi"},`+
			`{"type":"function_call","call_id":"c","name":%q,"arguments":"{}"},`+
			`{"type":"function_call_output","call_id":"c","output":"x"}]}`, name)
		if got := post("/chat/completions", chat); got != want {
			t.Errorf("chat, %q: %d", name, got)
		}
		if got := post("/responses", items); got != want {
			t.Errorf("responses, %q: %d", name, got)
		}
	}
}

// The client decodes each kind of reply. Apart from the provider's own finish reason, the result is
// the same for both APIs.
func TestReplies(t *testing.T) {
	for line, want := range map[string]string{
		`{"reasoning":"hm","text":"wörld","chunks":3,"usage":{"input":3,"output":2}}`:      "reasoning h;reasoning m;text wö;text r;text ld;stop|reasoning hm|text wörld|5 tokens",
		`{"toolCalls":[{"name":"read","arguments":"{broken"},{"name":"read"}],"chunks":2}`: "toolInput call_1_1;toolInput call_1_1{br;toolInput call_1_1oken;toolInput call_1_2;toolInput call_1_2{;toolInput call_1_2};toolUse|toolCall call_1_1 read {} {broken|toolCall call_1_2 read {} ",

		`{"text":"cut","finish":"length"}`:        "text cut;length|text cut",
		`{"text":"no","finish":"content_filter"}`: "text no;contentFilter|text no",
		`{"text":"half","drop":true}`:             "text half;truncated 0s",
		`{"drop":true}`:                           "truncated 0s",
		`{"text":"half","drop":"rune"}`:           "text half;truncated 0s",
		`{"text":"ab","repeat":3}`:                "text ababab;stop|text ababab",
		`{"raw":{"type":"text/html","body":"<html>log in</html>"}` +
			`}`: "client 0s",
		`{"raw":{"status":502,"type":"text/html","body":"<html>bad gateway</html>"}` +
			`}`: "transient 0s",
		`{"error":{"status":429,"message":"slow","retryAfter":3}` +
			`}`: "rate_limit 3s",
		`{"error":{"code":"context_length_exceeded",` +
			`"status":400}}`: "context_overflow 0s",
		`{"text":"x","error":{"status":529}}`: "text x;overloaded 0s",
		`{}`:                                  "stop",
	} {
		for name, m := range both(t, line) {
			if got := said(t, m); got != want {
				t.Errorf("%s, %s:\n got %s\nwant %s", line, name, got, want)
			}
		}
	}
}

// said sends a prompt and returns the deltas, followed by the error or the reply, as text.
func said(t *testing.T, m agent.Model) string {
	var s strings.Builder
	r, err := m.Generate(t.Context(),
		&agent.Request{Messages: []*message.Message{text(message.RoleUser, "hi")}},
		func(d agent.Delta) { s.WriteString(string(d.Kind) + " " + d.CallID + d.Text + ";") })
	if e := retry.As(err); e != nil {
		fmt.Fprintf(&s, "%s %s", e.Kind, e.RetryAfter)
		return s.String()
	}
	s.WriteString(string(r.Message.Stop))
	for _, b := range r.Message.Content {
		fmt.Fprintf(&s, "|%s %s", b.Type, b.Text)
		if b.Call != nil {
			fmt.Fprintf(&s, "%s %s %s %s", b.Call.ID, b.Call.Name, b.Call.Args, b.Call.Raw)
		}
	}
	if r.Message.Usage != nil {
		fmt.Fprintf(&s, "|%d tokens", r.Message.Usage.Total)
	}
	return s.String()
}

// Each piece of a reply is sent after its own delay.
func TestDelay(t *testing.T) {
	for name, m := range both(t, `{"text":"abcd","chunks":4,"delayMs":20}`) {
		begin, n := time.Now(), 0
		_, err := m.Generate(t.Context(),
			&agent.Request{Messages: []*message.Message{text(message.RoleUser, "hi")}},
			func(agent.Delta) { n++ })
		if took := time.Since(begin); err != nil || n != 4 || took < 4*20*time.Millisecond {
			t.Errorf("%s: %v, %d deltas after %v", name, err, n, took)
		}
	}
}

// TestOneCursor checks that concurrent sessions share one cursor.
func TestOneCursor(t *testing.T) {
	const n = 20
	for name, m := range both(t, strings.Split(strings.Repeat(`{"text":"x"}`+"\n", n-1)+
		`{"text":"x"}`, "\n")...) {
		errs := make(chan error, n)
		for range n {
			go func() { _, err := ask(m, text(message.RoleUser, "hi")); errs <- err }()
		}
		for range n {
			if err := <-errs; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := ask(m, text(message.RoleUser, "hi")); retry.As(err) == nil {
			t.Errorf("%s: one reply more than the script has", name)
		}
	}
}

func TestCloseEndsAReply(t *testing.T) {
	s, _ := script.Load(strings.NewReader(`{"text":"abcd","chunks":4,"delayMs":3600000}`))
	server, err := script.Serve(s)
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	server.OnRequest = func([]byte) { close(begun) }
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL(),
		Model: "script"}})
	defer m.Close()
	ended := make(chan error, 1)
	go func() { _, err := ask(m, text(message.RoleUser, "hi")); ended <- err }()
	<-begun
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; retry.As(err) == nil {
		t.Errorf("got %v", err)
	}
}

// TestDocumentedScript plays the example script in docs/reference/script.md.
func TestDocumentedScript(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/script.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```jsonl\n")
	example, _, _ := strings.Cut(rest, "```")
	for name, m := range both(t, example) {
		u := text(message.RoleUser, "fix it")
		r, err := ask(m, u)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list := []*message.Message{u, r.Message,
			result(r.Message.ToolCalls()[0].ID, "package main")}
		if _, err := ask(m, list...); retry.As(err) == nil ||
			retry.As(err).Kind != retry.Overloaded {
			t.Errorf("%s: %v", name, err)
		}
		if r, err = ask(m, list...); err != nil ||
			r.Message.TextContent() != "The bug is in line 3." || r.Message.Usage.Input != 900 {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}
