package modeltest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/script"
)

// phase is a point of a turn at which a fault occurs.
type phase struct {
	name    string
	call    int32 // index of the model call that gets the fault
	retries int
}

var phases = []phase{{"first call", 0, 0}, {"after a tool", 1, 0}, {"retried", 0, 1},
	{"retried after a tool", 1, 1}}

// CheckPhases checks each fault in the phases of a turn to which it applies, streamed or not. The
// turn ends in bounded time with the fault's outcome, unless a retry or a smaller context makes it
// succeed. The next prompt must succeed. All other calls are answered by the strict scripted
// endpoint.
func CheckPhases(t *testing.T, a *API) {
	many := make(chan struct{}, 32)
	for _, noStream := range []bool{false, true} {
		for _, p := range phases {
			t.Run(fmt.Sprintf("%s, stream %v", p.name, !noStream), func(t *testing.T) {
				t.Parallel()
				var wg sync.WaitGroup
				for _, f := range a.Faults() {
					if noStream && f.Stream ||
						p.retries > 0 && (f.Text != "" || !retry.Retryable(f.Kind)) {
						continue
					}
					many <- struct{}{}
					wg.Go(func() {
						defer func() { <-many }()
						checkPhase(t, a, &f, p, noStream)
					})
				}
				wg.Wait()
			})
		}
	}
}

// moody is a strict provider that works normally, except for paths below /faulty.
type moody struct {
	fault *Fault
	sound http.Handler
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/faulty/") {
		_, _ = io.Copy(io.Discard, r.Body)
		m.fault.Serve(w, r)
		return
	}
	m.sound.ServeHTTP(w, r)
}

// once is a model that works normally except for one call, which the faulty model answers. It
// counts the calls itself, because on a busy machine the client may abandon a call before the call
// reaches the provider.
type once struct {
	agent.Model
	faulty agent.Model
	at     int32
	calls  atomic.Int32
}

func (o *once) Generate(
	ctx context.Context,
	req *agent.Request,
	on func(agent.Delta),
) (*agent.Reply, error) {
	if o.calls.Add(1)-1 == o.at {
		return o.faulty.Generate(ctx, req, on)
	}
	return o.Model.Generate(ctx, req, on)
}

// retries is a Sink that counts retries.
type retries struct{ n atomic.Int32 }

func (s *retries) Emit(_ string, e agent.Event) {
	if _, ok := e.(agent.Retrying); ok {
		s.n.Add(1)
	}
}

// moodyServer serves a script, and the fault for paths below /faulty.
func moodyServer(f *Fault, lines string) (*httptest.Server, func(), error) {
	sc, err := script.Load(strings.NewReader(lines))
	if err != nil {
		return nil, nil, err
	}
	strict, err := script.Serve(sc)
	if err != nil {
		return nil, nil, err
	}
	to, _ := url.Parse(strings.TrimSuffix(strict.URL(), "/v1"))
	server := httptest.NewServer(&moody{fault: f, sound: httputil.NewSingleHostReverseProxy(to)})
	return server, func() { server.Close(); _ = strict.Close() }, nil
}

func checkPhase(t *testing.T, a *API, f *Fault, p phase, noStream bool) {
	name := fmt.Sprintf("%s, %s, noStream %v", f.Name, p.name, noStream)
	lines := strings.Repeat(`{"text":"Hello again."}`+"\n", 4)
	if p.call > 0 {
		lines = `{"toolCalls":[{"name":"look","arguments":{}}]}` + "\n" + lines
	}
	server, stop, err := moodyServer(f, lines)
	if err != nil {
		t.Error(err)
		return
	}
	defer stop()
	o := modelhttp.Options{
		BaseURL: server.URL + "/v1", Model: "m", NoStream: noStream, MaxReply: 15 << 20,
	}
	sound := a.New(o)
	defer sound.Close()
	o.BaseURL = server.URL + "/faulty/v1"
	if f.Kind == retry.StreamIdle || f.Stalls { // only these faults expect a timeout
		o.IdleTimeout, o.EventTimeout, o.FirstByteTimeout = time.Second, time.Second, time.Second
	}
	if f.Stalls { // the fault is in the body, so a slow machine may delay the status
		o.FirstByteTimeout = 5 * time.Minute
	}
	faulty := a.New(o)
	defer faulty.Close()
	sink := &retries{}
	s, err := phaseSession(&once{Model: sound, faulty: faulty, at: p.call}, p.retries, sink,
		func(format string, args ...any) { t.Errorf(name+": "+format, args...) })
	if err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	defer s.Close(ctx)
	turn := ask(ctx, t, s, name)
	switch failed := turn.Status == agent.TurnStatusFailed; {
	case f.Text != "" || p.retries > 0:
		if failed {
			t.Errorf("%s: %+v", name, turn.Error)
		}
	case f.Kind == retry.ContextOverflow && !failed: // the context was reduced until it fit
	case !failed || turn.Error.Kind != string(f.Kind) || turn.Error.Message == "":
		t.Errorf("%s: turn %s, %+v; want kind %s", name, turn.Status, turn.Error, f.Kind)
	}
	if n := sink.n.Load(); p.retries > 0 != (n > 0) {
		t.Errorf("%s: %d retries", name, n)
	}
	if next := ask(ctx, t, s, name); next.Status != agent.TurnStatusCompleted {
		t.Errorf("%s: the next prompt: %s %+v", name, next.Status, next.Error)
	}
}

// phaseSession returns a session that has the tool named look.
func phaseSession(
	model agent.Model,
	retries int,
	sink agent.Sink,
	bug func(string, ...any),
) (*agent.Session, error) {
	reg, err := tool.NewRegistry(look{})
	if err != nil {
		return nil, err
	}
	next := func(context.Context, agent.TurnInfo) (agent.Step, error) {
		step := agent.Step{
			Models: []agent.Model{model}, Tools: reg, Repair: repair.Default(),
			Retry: retry.Policy{
				MaxRetries: retries, InitialDelay: time.Millisecond, MaxDelay: 2 * time.Millisecond,
			},
		}
		if retries == 0 {
			step.Retry.MaxRetries = -1
		}
		return step, nil
	}
	return agent.NewSession(agent.Options{
		ID: "s", Cwd: "/", Sink: sink, Environment: agent.EnvironmentFunc(next), Bug: bug,
	}), nil
}

func ask(ctx context.Context, t *testing.T, s *agent.Session, name string) agent.Turn {
	a, err := s.Prompt(agent.Prompt{Content: []message.Block{{Type: message.Text, Text: "go"}}})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return agent.Turn{}
	}
	turn, err := s.Wait(ctx, a.TurnID, "")
	if err != nil {
		t.Errorf("%s: the turn does not end: %v", name, err)
	}
	return turn
}

// look is a tool that has no effect.
type look struct{}

func (look) Spec() tool.Spec { return tool.Spec{Name: "look", Effect: tool.ReadOnly} }

func (look) Prepare(context.Context, *tool.Call) (*tool.Prepared, error) {
	return &tool.Prepared{Run: looks}, nil
}

func looks(context.Context, *tool.Call) (*tool.Result, error) {
	return &tool.Result{Text: "seen"}, nil
}
