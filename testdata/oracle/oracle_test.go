// Package oracle compares the model adapters with the services' SDKs. For the same conversation,
// both must send equal requests, and both must decode the same stream identically. It is a separate
// module, so that agent-lsp does not depend on the SDKs.
package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
)

// fixture returns a documented stream from an adapter's tests.
func fixture(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile("../../internal/model/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// schema is the parameter schema of the tool in the conversations.
const schema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`

// request returns a conversation in which the model has answered with reply.
func request(reply *message.Message) *agent.Request {
	req := modeltest.User("Weather?")
	req.System = []agent.SystemBlock{{Text: "Be careful.", Cache: true}}
	req.Tools = []agent.ToolSpec{
		{Name: "get_weather", Description: "weather", Schema: json.RawMessage(schema)},
	}
	req.Messages = append(req.Messages, reply)
	for _, c := range reply.ToolCalls() {
		req.Messages = append(req.Messages, result(c))
	}
	req.Messages = append(req.Messages, message.NewText(message.RoleUser, "And now?"))
	return req
}

func result(c *message.ToolCall) *message.Message {
	m := modeltest.Result(c.ID, "sunny")
	m.Name = c.Name
	return m
}

// generate calls the model with a request.
func generate(t *testing.T, m modeltest.Model, req *agent.Request) *agent.Reply {
	t.Helper()
	defer m.Close()
	reply, err := m.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// wire is a transport that answers with a stream.
type wire struct{ modeltest.Wire }

func stream(answer string) *wire { return &wire{modeltest.Wire{Answer: answer}} }

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.Wire.RoundTrip(r)
	if resp != nil {
		resp.Header.Set("Content-Type", "text/event-stream")
	}
	return resp, err
}

// equal compares two JSON texts. It ignores the fields named in drop.
func equal(t *testing.T, name string, ours, theirs []byte, drop ...string) {
	t.Helper()
	a, b := parse(t, ours, drop), parse(t, theirs, drop)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s:\nours   %s\ntheirs %s", name, text(a), text(b))
	}
}

func text(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}

func parse(t *testing.T, b []byte, drop []string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	remove(v, drop)
	return v
}

// remove deletes the named fields at every depth.
func remove(v any, names []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, n := range names {
			delete(v, n)
		}
		for _, e := range v {
			remove(e, names)
		}
	case []any:
		for _, e := range v {
			remove(e, names)
		}
	}
}

// reply contains the parts of a decoded stream that the tests compare.
type reply struct {
	Text, Thinking, Calls, Stop string
	Input, Output, Cached       int
}

func read(r *agent.Reply) reply {
	out := reply{Text: r.Message.TextContent(), Stop: r.Finish}
	for _, b := range r.Message.Content {
		if b.Type == message.Reasoning {
			out.Thinking += b.Text
		}
	}
	for _, c := range r.Message.ToolCalls() {
		out.call(c.ID, c.Name, string(c.Args))
	}
	if u := r.Message.Usage; u != nil {
		out.Input, out.Output, out.Cached = u.Input, u.Output, u.Cached
	}
	return out
}

func (r *reply) call(id, name, args string) {
	var v any
	_ = json.Unmarshal([]byte(args), &v)
	r.Calls += fmt.Sprintf("%s %s %s; ", id, name, text(v))
}

// same compares the replies that the adapter and the SDK decoded.
func same(t *testing.T, name string, a, b reply) {
	t.Helper()
	if a != b {
		t.Errorf("%s:\nours   %+v\ntheirs %+v", name, a, b)
	}
}

// histories sends requests with random histories through a and passes each request body to check.
func histories(t *testing.T, a *modeltest.API, model, answer string, check func([]byte) error) {
	t.Helper()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 33))
		w := stream(answer)
		m := a.New(options(model, w))
		req := &agent.Request{
			Messages: modeltest.SomeHistory(r, []string{model},
				[]message.Block{{Type: message.Text, Text: "x"}}),
			System:   []agent.SystemBlock{{Text: "s", Cache: true}}[:r.IntN(2)],
			Tools:    request(&message.Message{}).Tools[:r.IntN(2)],
			Thinking: agent.Thinking{Level: []string{"", "off", "low", "high"}[r.IntN(4)]},
			Sampling: agent.Sampling{MaxTokens: []int{0, 5000}[r.IntN(2)]},
		}
		req.Messages = append(req.Messages, message.NewText(message.RoleUser, "go"))
		generate(t, m, req)
		if err := check(w.Body); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, w.Body)
		}
	}
}

// survives reports what is lost when a body is decoded into an SDK's type and encoded again.
func survives(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return err
	}
	again, err := json.Marshal(into)
	if err != nil {
		return err
	}
	var a, b map[string]any
	if err := json.Unmarshal(body, &a); err != nil {
		return err
	}
	if err := json.Unmarshal(again, &b); err != nil {
		return err
	}
	delete(a, "stream") // the SDK sets this field itself
	delete(b, "stream")
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("the SDK's type makes it\n%s", strings.TrimSpace(string(again)))
	}
	return nil
}

func options(model string, w http.RoundTripper) modelhttp.Options {
	return modelhttp.Options{Model: model, Transport: w}
}
