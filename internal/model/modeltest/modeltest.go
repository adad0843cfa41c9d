// Package modeltest contains helpers for the tests of all adapters: a fake endpoint, the scripted
// endpoint, and random histories. Only tests import it.
package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/script"
)

// Answer is the answer of a fake endpoint. Each request gets the next body, and the last body is
// repeated.
type Answer struct {
	Status int
	Kind   string // content type of the bodies
	Bodies []string
	Header map[string]string
	Hold   bool // whether to keep the connection open after the body
}

// Stream returns an answer that consists of event streams.
func Stream(bodies ...string) Answer {
	return Answer{Status: 200, Kind: "text/event-stream", Bodies: bodies}
}

// JSON returns an answer that is not streamed.
func JSON(status int, body string) Answer {
	return Answer{Status: status, Kind: "application/json", Bodies: []string{body}}
}

// Serve serves an answer until the test ends and records the request bodies.
func Serve(t testing.TB, a Answer) (url string, sent *[]string) {
	t.Helper()
	var mu sync.Mutex
	sent = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		*sent = append(*sent, string(body))
		n := min(len(*sent), len(a.Bodies)) - 1
		mu.Unlock()
		a.serve(w, r, n)
	}))
	t.Cleanup(server.Close)
	return server.URL, sent
}

// Serve answers a request with the first body of the answer.
func (a Answer) Serve(w http.ResponseWriter, r *http.Request) { a.serve(w, r, 0) }

func (a Answer) serve(w http.ResponseWriter, r *http.Request, body int) {
	for k, v := range a.Header {
		w.Header().Set(k, v)
	}
	w.Header().Set("Content-Type", a.Kind)
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Bodies[body])
	if a.Hold {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// Play serves a script until the test ends. The endpoint is as strict as real providers.
func Play(t testing.TB, lines ...string) *script.Server {
	t.Helper()
	s, err := script.Load(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	server, err := script.Serve(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// KeyOf returns a KeyFunc that always returns the given key.
func KeyOf(key string) modelhttp.KeyFunc {
	return func(context.Context) (string, error) { return key, nil }
}

// User returns a request with one user message.
func User(text string) *agent.Request {
	return &agent.Request{Messages: []*message.Message{message.NewText(message.RoleUser, text)}}
}

// Result returns a tool result.
func Result(id, text string) *message.Message {
	m := message.NewText(message.RoleTool, text)
	m.CallID, m.Name = id, "read"
	return m
}

// Calling returns a reply that calls the tool "read" once for each ID.
func Calling(text string, ids ...string) *message.Message {
	m := message.NewText(message.RoleAssistant, text)
	for _, id := range ids {
		m.Content = append(
			m.Content,
			message.Block{
				Type: message.ToolUse,
				Call: &message.ToolCall{
					ID:   id,
					Name: "read",
					Args: json.RawMessage(`{"path":"a"}`),
				},
			},
		)
	}
	return m
}

// Stored returns a message as it is when it is read back from storage.
func Stored(t testing.TB, m *message.Message) *message.Message {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out message.Message
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// Summary describes a reply in one line.
func Summary(r *agent.Reply) string {
	var b strings.Builder
	for i := range r.Message.Content {
		switch p := &r.Message.Content[i]; p.Type {
		case message.ToolUse:
			fmt.Fprintf(&b, "%s %s%s %s; ", p.Call.ID, p.Call.Name, p.Call.Args, p.Call.Raw)
		default:
			fmt.Fprintf(&b, "%s %q %s; ", p.Type, p.Text, p.Opaque)
		}
	}
	u := r.Message.Usage
	return fmt.Sprintf(
		"%sstop %s, in %d out %d read %d write %d thought %d",
		&b,
		r.Message.Stop,
		u.Input,
		u.Output,
		u.Cached,
		u.CacheWrite,
		u.Reasoning,
	)
}

// SomeHistory returns a random history. The roles are in any order, and the calls come from several
// providers. The replies are from the given models and contain thinking from these and other
// models.
func SomeHistory(r *rand.Rand, models []string, own []message.Block) []*message.Message {
	texts := []string{"", " ", "\n", "text", "\xff", "long " + strings.Repeat("x", 600)}
	roles := []message.Role{
		message.RoleUser, message.RoleAssistant, message.RoleAssistant, message.RoleTool,
		message.RoleSystem,
	}
	var out []*message.Message
	for range r.IntN(12) {
		m := &message.Message{
			Role:  roles[r.IntN(len(roles))],
			Model: models[r.IntN(len(models))],
		}
		for range r.IntN(4) {
			m.Content = append(m.Content, someBlock(r, m.Role, texts, own))
		}
		if m.Role == message.RoleTool {
			m.IsError = r.IntN(3) == 0
		}
		if m.Role == message.RoleUser && r.IntN(10) == 0 {
			m.App = "note"
		}
		out = append(out, m)
	}
	return uniqueCalls(r, history.Pair(out, nil))
}

func someBlock(r *rand.Rand, role message.Role, texts []string, own []message.Block) message.Block {
	text := message.Block{Type: message.Text, Text: texts[r.IntN(len(texts))]}
	if role != message.RoleAssistant {
		switch r.IntN(5) {
		case 0:
			return message.Block{
				Type:     message.Image,
				MimeType: []string{"image/png", "image/bmp"}[r.IntN(2)],
				Data:     []byte("x"),
			}
		case 1:
			return message.Block{
				Type:     message.File,
				Name:     "f",
				MimeType: []string{"application/pdf", "text/plain", "application/zip"}[r.IntN(3)],
				Data:     []byte("x"),
			}
		}
		return text
	}
	names := []string{"read", "a.b/c", "unnamed?", strings.Repeat("n", 200), "tool_search"}
	switch r.IntN(4) {
	case 0:
		return own[r.IntN(len(own))]
	case 1:
		return message.Block{
			Type:   message.Reasoning,
			Text:   "theirs",
			Opaque: json.RawMessage(`{"type":"reasoning","encrypted_content":"x"}`),
		}
	case 2:
		if r.IntN(4) == 0 {
			return nativeCall(r.IntN(3))
		}
		return message.Block{
			Type: message.ToolUse,
			Call: &message.ToolCall{
				ID:   "x",
				Name: names[r.IntN(len(names))],
				Args: json.RawMessage(`{"a":1}`),
			},
		}
	}
	return text
}

// nativeCall returns a call that came from a native item of the responses API: a patch, or a
// command from a shell item.
func nativeCall(which int) message.Block {
	c := &message.ToolCall{ID: "x", Name: "bash", Args: json.RawMessage(`{"command":"ls"}`)}
	origin := `{"openaiItem":"shell_call"}`
	switch which {
	case 1:
		origin = `{"openaiItem":"shell_call","part":1}`
	case 2:
		c.Name, origin = "apply_patch", `{"openaiItem":"apply_patch_call",`+
			`"operation":"delete_file"}`
		c.Args = json.RawMessage(`{"patch":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}`)
	}
	return message.Block{Type: message.ToolUse, Call: c, Opaque: json.RawMessage(origin)}
}

// uniqueCalls gives each call a unique ID in the format of one of several providers, and updates
// the results.
func uniqueCalls(r *rand.Rand, msgs []*message.Message) []*message.Message {
	ids := []string{"call_%d", "functions.read:%d", "toolu_%d", "%d", "fc|%d ☃"}
	n := 0
	for _, m := range msgs {
		for i := range m.Content {
			if c := m.Content[i].Call; c != nil {
				n++
				own := *c
				own.ID = fmt.Sprintf(ids[r.IntN(len(ids))], n)
				m.Content[i].Call = &own
			}
		}
	}
	clean := make([]*message.Message, 0, len(msgs))
	for _, m := range msgs {
		if m.Role != message.RoleTool {
			clean = append(clean, m)
		}
	}
	clean = history.Pair(clean, nil)
	for _, m := range clean {
		if m.Name == "tool_search" {
			m.Meta = map[string]json.RawMessage{
				"activate": json.RawMessage(
					[]string{`["one"]`, `["one","two"]`, `["gone"]`, `[]`}[r.IntN(4)],
				),
			}
		}
	}
	return clean
}

// Long returns a history with the given number of steps. Each step is a prompt, a reply with a
// call, and the call's result.
func Long(steps int) (out []*message.Message) {
	for i := range steps {
		id := fmt.Sprint("c", i)
		out = append(
			out,
			message.NewText(message.RoleUser, strings.Repeat("x", 600)),
			Calling(strings.Repeat("y", 600), id),
			Result(id, strings.Repeat("z", 3000)),
		)
	}
	return out
}

// Wire is a transport that answers every request with Answer and stores the last request.
type Wire struct {
	Answer string
	URL    string
	Header http.Header
	Body   []byte
}

// RoundTrip implements http.RoundTripper.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.URL, w.Header = r.URL.String(), r.Header
	w.Body, _ = io.ReadAll(r.Body)
	return Discard{w.Answer}.RoundTrip(r)
}

// Has checks one field of a request body. want is the expected JSON, or "" if the field must be
// absent.
func Has(t testing.TB, name string, body map[string]any, key, want string) {
	t.Helper()
	got, sent := body[key]
	if want == "" {
		if sent {
			t.Errorf("%s: %s is sent: %v", name, key, got)
		}
		return
	}
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	if b, _ := json.Marshal(w); string(a) != string(b) {
		t.Errorf("%s: %s is\n%s, want\n%s", name, key, a, b)
	}
}

// Discard is a transport that answers with Body without reading the request. A benchmark that uses
// it measures only the building of the request.
type Discard struct{ Body string }

// RoundTrip implements http.RoundTripper.
func (d Discard) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200,
		Header:     http.Header{},
		Body:       io.NopCloser(strings.NewReader(d.Body)),
		Request:    r,
	}, nil
}
