package script_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/openai"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/script"
)

// both returns the ways to play a script, each with a script of its own: within the process, and by a server over
// either API.
func both(t *testing.T, lines ...string) map[string]agent.Model {
	t.Helper()
	load := func() *script.Script {
		s, err := script.Parse(strings.Join(lines, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ways := map[string]agent.Model{"model": &script.Model{Script: load()}}
	for _, api := range []string{openai.APIChat, openai.APIResponses} {
		server, err := script.Serve(load())
		if err != nil {
			t.Fatal(err)
		}
		over := openai.New(openai.Options{BaseURL: server.URL(), Model: "script", API: api})
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
		m.Content = append(m.Content, message.Block{Type: message.ToolUse, Call: &message.ToolCall{ID: id, Name: "read", Args: []byte("{}")}})
	}
	return m
}

func result(id, s string) *message.Message {
	m := text(message.RoleTool, s)
	m.CallID, m.Name = id, "read"
	return m
}

// TestErrorsNameTheLine covers protocol section 7: a script that is wrong says where.
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
		`{"when":{"notSent":"("}}`:                         "when.notSent",
		"{\"text\":\"a\"}\n" + strings.Repeat("x", 33<<20): "line 2",
	} {
		if _, err := script.Parse(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", in, err, want)
		}
	}
	if s, err := script.Parse("// a comment\n\n{\"text\":\"a\"}\r\n"); err != nil || s.Left() != 1 {
		t.Errorf("comment and blank lines: %v", err)
	}
}

func TestExpect(t *testing.T) {
	for name, m := range both(t, `{"expect":{"lastUser":"fix.*bug"},"toolCalls":[{"id":"c1","name":"read","arguments":{"path":"a"}}]}`, `{"expect":{"lastTool":"^ok$"},"text":"done"}`) {
		if _, err := ask(m, text(message.RoleUser, "hello")); retry.As(err) == nil || retry.As(err).Kind != retry.Script || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: a mismatch is %v", name, err)
		}
		u := text(message.RoleUser, "fix the bug")
		r, err := ask(m, u) // a mismatch does not move the cursor
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r, err = ask(m, u, r.Message, result("c1", "ok"))
		if err != nil || r.Message.TextContent() != "done" {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		if _, err := ask(m, u); retry.As(err) == nil || retry.As(err).Kind != retry.Script || !strings.Contains(err.Error(), "run out") {
			t.Errorf("%s: the end is %v", name, err)
		}
	}
}

// What was sent as a whole can be asked of, the system prompt included.
func TestExpectSent(t *testing.T) {
	for name, m := range both(t, `{"expect":{"sent":"(?s)be kind.*first.*answer.*second"},"text":"a"}`, `{"expect":{"notSent":"first"},"text":"b"}`) {
		req := &agent.Request{System: []agent.SystemBlock{{Text: "be kind"}}, Messages: []*message.Message{text(message.RoleUser, "first")}}
		if _, err := m.Generate(t.Context(), req, nil); err == nil || !strings.Contains(err.Error(), "what is sent") {
			t.Errorf("%s: %v", name, err)
		}
		req.Messages = append(req.Messages, text(message.RoleAssistant, "answer"), text(message.RoleUser, "second"))
		if _, err := m.Generate(t.Context(), req, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := m.Generate(t.Context(), req, nil); err == nil || !strings.Contains(err.Error(), `"first" does`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A reply that stalls ends with the caller's patience.
func TestStall(t *testing.T) {
	for name, m := range both(t, `{"text":"half","stall":true}`) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("enough")
		_, err := m.Generate(ctx, &agent.Request{Messages: []*message.Message{text(message.RoleUser, "hi")}}, func(agent.Delta) { cancel(gone) })
		if !errors.Is(err, gone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A line with a when waits for the request that it fits, and the others go on in order.
func TestWhen(t *testing.T) {
	for name, m := range both(t, `{"when":{"lastUser":"^b$"},"text":"for b"}`, `{"text":"first"}`, `{"when":{"lastUser":"^a$"},"text":"for a"}`, `{"text":"second"}`) {
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

// TestStrict covers issue 4's proof: what real providers refuse is refused.
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
		{"sound", []*message.Message{u, calls("c1", "c2"), result("c2", "x"), result("c1", "y")}, ""},
		{"a call without a result", []*message.Message{u, calls("c1", "c2"), result("c1", "x"), u}, retry.Client},
		{"a call without a result at the end", []*message.Message{u, calls("c1")}, retry.Client},
		{"a result without a call", []*message.Message{u, a, result("c1", "x")}, retry.Client},
		{"two results of a call", []*message.Message{u, calls("c1"), result("c1", "x"), result("c1", "x")}, retry.Client},
		{"an id used twice", []*message.Message{u, calls("c1"), result("c1", "x"), calls("c1"), result("c1", "x")}, retry.Client},
		{"the assistant first", []*message.Message{a, u}, retry.Client},
		{"the assistant last", []*message.Message{u, a}, retry.Client},
		{"a name of a wrong form", []*message.Message{u, badName, result("c1", "x")}, retry.Client},
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

// TestBothWaysAgree: the server, over either API, and the model play the same script alike. Only the provider's own
// word for the end differs between the APIs.
func TestBothWaysAgree(t *testing.T) {
	for _, line := range []string{
		`{"reasoning":"hm","text":"wörld","chunks":3,"usage":{"input":3,"output":2}}`,
		`{"toolCalls":[{"name":"read","arguments":"{broken"},{"name":"read"}],"chunks":2}`,
		`{"text":"cut","finish":"length"}`, `{"text":"no","finish":"content_filter"}`, `{"text":"half","drop":true}`, `{"drop":true}`, `{"text":"half","drop":"rune"}`, `{"text":"ab","repeat":3}`, `{"raw":{"type":"text/html","body":"<html>log in</html>"}}`, `{"raw":{"status":502,"type":"text/html","body":"<html>bad gateway</html>"}}`,
		`{"error":{"status":429,"message":"slow","retryAfter":3}}`, `{"error":{"code":"context_length_exceeded","status":400}}`, `{"text":"x","error":{"status":529}}`, `{}`,
	} {
		said := map[string]string{}
		for name, m := range both(t, line) {
			var deltas strings.Builder
			r, err := m.Generate(t.Context(), &agent.Request{Messages: []*message.Message{text(message.RoleUser, "hi")}}, func(d agent.Delta) { deltas.WriteString(string(d.Kind) + d.CallID + d.Text + ";") })
			s := deltas.String()
			if e := retry.As(err); e != nil {
				s += string(e.Kind) + e.RetryAfter.String()
			} else if r != nil {
				s += string(r.Message.Stop)
				if name != openai.APIResponses {
					said["finish "+name] = r.Finish
				}
				for _, b := range r.Message.Content {
					s += "|" + string(b.Type) + b.Text
					if b.Call != nil {
						s += b.Call.ID + b.Call.Name + string(b.Call.Args) + b.Call.Raw
					}
				}
				if r.Message.Usage != nil {
					s += "|" + strings.Repeat("t", r.Message.Usage.Total)
				}
			}
			said[name] = s
		}
		if said["finish model"] != said["finish chat"] {
			t.Errorf("%s: finish %s, %s", line, said["finish model"], said["finish chat"])
		}
		for _, api := range []string{openai.APIChat, openai.APIResponses} {
			if said[api] != said["model"] {
				t.Errorf("%s, %s:\n%s\n%s", line, api, said[api], said["model"])
			}
		}
	}
}

func TestDelayUnderSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := script.Parse(`{"text":"abcd","chunks":4,"delayMs":60000}` + "\n" + `{"text":"abcd","chunks":4,"delayMs":60000}`)
		if err != nil {
			t.Fatal(err)
		}
		m := &script.Model{Script: s}
		begin := time.Now()
		if _, err := ask(m, text(message.RoleUser, "hi")); err != nil || time.Since(begin) != 4*time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("aborted")
		time.AfterFunc(90*time.Second, func() { cancel(cause) })
		n := 0
		_, err = m.Generate(ctx, &agent.Request{Messages: []*message.Message{text(message.RoleUser, "hi")}}, func(agent.Delta) { n++ })
		if !errors.Is(err, cause) || n != 1 {
			t.Errorf("%v after %d deltas", err, n)
		}
	})
}

// TestOneCursor: sessions that call at the same time share the cursor.
func TestOneCursor(t *testing.T) {
	const n = 20
	for name, m := range both(t, strings.Split(strings.Repeat(`{"text":"x"}`+"\n", n-1)+`{"text":"x"}`, "\n")...) {
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
			t.Errorf("%s: one reply too many", name)
		}
	}
}

func TestCloseEndsAReply(t *testing.T) {
	s, _ := script.Parse(`{"text":"abcd","chunks":4,"delayMs":3600000}`)
	server, err := script.Serve(s)
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	server.OnRequest = func([]byte) { close(begun) }
	m := openai.New(openai.Options{BaseURL: server.URL(), Model: "script"})
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

func FuzzLoad(f *testing.F) {
	f.Add(`{"text":"a","toolCalls":[{"name":"x","arguments":{}}]}`)
	f.Add(`{"window":1}`)
	f.Fuzz(func(t *testing.T, in string) {
		s, err := script.Parse(in)
		if err != nil {
			return
		}
		s.Lenient = true
		m := &script.Model{Script: s}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, _ = m.Generate(ctx, &agent.Request{}, nil)
	})
}

// TestDocumentedScript plays the example of docs/script.md.
func TestDocumentedScript(t *testing.T) {
	page, err := os.ReadFile("../../../docs/script.md")
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
		list := []*message.Message{u, r.Message, result(r.Message.ToolCalls()[0].ID, "package main")}
		if _, err := ask(m, list...); retry.As(err) == nil || retry.As(err).Kind != retry.Overloaded {
			t.Errorf("%s: %v", name, err)
		}
		if r, err = ask(m, list...); err != nil || r.Message.TextContent() != "The bug is in line 3." || r.Message.Usage.Input != 900 {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}
