package modeltest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// Main is the TestMain of an adapter's tests. It checks that no goroutine of a model is left after
// Close.
func Main(m *testing.M) {
	testspeed.Parallel(8) // most tests wait for a stalled provider
	goleak.VerifyTestMain(m)
}

// Endpoint starts an endpoint that serves an answer. It returns a model that uses the endpoint, and
// the recorded request bodies.
func Endpoint(t testing.TB, a *API, model string, answer Answer) (Model, *[]string) {
	t.Helper()
	url, sent := Serve(t, answer)
	m := a.New(modelhttp.Options{BaseURL: url, Model: model, Key: KeyOf(Secret)})
	t.Cleanup(func() { _ = m.Close() })
	return m, sent
}

// Ask calls the model and adds the reply to the request's history.
func Ask(t testing.TB, m agent.Model, req *agent.Request) *message.Message {
	t.Helper()
	reply, err := m.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, reply.Message)
	return reply.Message
}

// Restarted returns the request as it would be after a restart. Every second message is a copy, as
// in a fork.
func Restarted(t testing.TB, req *agent.Request) *agent.Request {
	t.Helper()
	again := *req
	again.Messages = nil
	for i, m := range req.Messages {
		if m = Stored(t, m); i%2 == 0 {
			m = m.Clone()
		}
		again.Messages = append(again.Messages, m)
	}
	return &again
}

// Body calls the model over w and returns the request body and the reply.
func Body(t testing.TB, m Model, w *Wire, req *agent.Request) (map[string]any, *agent.Reply) {
	t.Helper()
	defer m.Close()
	reply, err := m.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(w.Body, &body); err != nil {
		t.Fatalf("%v\n%s", err, w.Body)
	}
	return body, reply
}

// CheckEndless checks that a stream that never ends is stopped with an error that contains want.
func CheckEndless(t *testing.T, a *API, name, next, want string) {
	t.Helper()
	p := NewProvider(t)
	p.Set(Endless(a.Begin+a.Text, func(int) string { return next + "\n\n" }))
	m := a.New(modelhttp.Options{BaseURL: p.URL, Model: "m", MaxReply: 1 << 20})
	defer m.Close()
	_, err := m.Generate(t.Context(), User("hi"), nil)
	if !errors.Is(err, retry.ErrReplyTooLong) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v", name, err)
	}
}

// CheckWarm checks that a request encodes only the new messages if the earlier ones are already
// encoded.
func CheckWarm(t *testing.T, a *API) {
	m := a.New(modelhttp.Options{Model: "m", Transport: &Wire{Answer: a.Sound()}})
	defer m.Close()
	run := func(list []*message.Message) {
		if _, err := m.Generate(t.Context(), &agent.Request{Messages: list}, nil); err != nil {
			t.Fatal(err)
		}
	}
	kept := Long(300)
	run(kept)
	cold := testing.AllocsPerRun(1, func() { run(Long(300)) })
	warm := testing.AllocsPerRun(3, func() { run(kept) })
	t.Logf("%v allocations warm, %v cold", warm, cold)
	if warm > 300 || warm*5 > cold {
		t.Errorf("%v allocations with a warm history, %v with a cold one", warm, cold)
	}
}

// BenchmarkEncode measures how long it takes to encode a request with about 1000 messages.
func BenchmarkEncode(b *testing.B, a *API, tools []agent.ToolSpec) {
	m := a.New(modelhttp.Options{Model: "m", Transport: Discard{Body: a.Sound()}})
	defer m.Close()
	req := &agent.Request{Messages: Long(333), Tools: tools}
	for b.Loop() {
		if _, err := m.Generate(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// CheckListed checks that a model's options take precedence over the endpoint's model list, which
// gives other values for the model "m".
func CheckListed(t *testing.T, a *API, list string) {
	t.Helper()
	url, _ := Serve(t, JSON(200, list))
	m := a.New(modelhttp.Options{BaseURL: url, Model: "m", ContextWindow: 5,
		Vision: new(true), Tools: new(true)})
	defer m.Close()
	lister, ok := m.(interface {
		Models(context.Context) ([]agent.ModelInfo, error)
	})
	if !ok {
		t.Fatal("the model does not list models")
	}
	got, err := lister.Models(t.Context())
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if i := got[0]; i.ContextWindow != 5 || i.Vision == nil || !*i.Vision || i.Tools == nil ||
		!*i.Tools {
		t.Errorf("got %+v", i)
	}
}

// Histories configures CheckAnyHistory.
type Histories struct {
	Model   string   // the model that the endpoint serves
	Authors []string // the models that wrote the replies
	Models  []string // the models of the requests; "" for the endpoint's model
	Tools   [][]agent.ToolSpec
	Lines   []string        // script steps whose reply blocks appear in the histories
	Own     []message.Block // additional blocks for replies in the histories
	Runs    int             // number of histories; 0 means 500
	Vary    func(*rand.Rand, *agent.Request)
}

// CheckAnyHistory checks that the strict endpoint accepts requests with any history and any
// thinking setting.
func CheckAnyHistory(t *testing.T, a *API, h *Histories) {
	play := func(lines ...string) (Model, *[]byte) {
		server, sent := Play(t, lines...), new([]byte)
		server.OnRequest = func(b []byte) { *sent = b }
		m := a.New(modelhttp.Options{Model: h.Model, BaseURL: server.URL()})
		t.Cleanup(func() { _ = m.Close() })
		return m, sent
	}
	first, _ := play(h.Lines...)
	own := h.Own
	for range h.Lines {
		own = append(own, Ask(t, first, User("hi")).Content...)
	}
	runs := cmp.Or(h.Runs, 500)
	m, sent := play(strings.Repeat(`{"text":"ok"}`+"\n", runs))
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 7))
		req := &agent.Request{
			Messages: SomeHistory(r, h.Authors, own),
			Model:    h.Models[r.IntN(len(h.Models))],
			Tools:    h.Tools[r.IntN(len(h.Tools))],
			System:   []agent.SystemBlock{{Text: "s", Cache: true}, {Text: "v"}}[:r.IntN(3)],
			Thinking: agent.Thinking{Level: []string{"", "off", "low", "high"}[r.IntN(4)]},
		}
		if len(req.Tools) > 0 {
			req.ToolChoice = []string{"", "auto", "required", "read"}[r.IntN(4)]
		}
		if h.Vary != nil {
			h.Vary(r, req)
		}
		if _, err := m.Generate(t.Context(), req, nil); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, *sent)
		}
	}
}
