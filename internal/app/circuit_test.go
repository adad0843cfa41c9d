package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/config"
)

// failing is a model that returns err, or succeeds if err is nil. It counts its calls.
type failing struct {
	err   error
	calls int
}

func (f *failing) Info() agent.ModelInfo { return agent.ModelInfo{ID: "m"} }

func (f *failing) Generate(
	context.Context, *agent.Request, func(agent.Delta),
) (*agent.Reply, error) {
	f.calls++
	if f.err != nil {
		return nil, f.err
	}
	return &agent.Reply{Message: message.NewText(message.RoleAssistant, "hi")}, nil
}

// guardedBy returns a model that has a circuit breaker and a fallback.
func guardedBy(m agent.Model) *guardedModel {
	return &guardedModel{
		Model: m, ref: "corp/m", circuit: newCircuit("corp"), otherwise: true,
		allowed: func() error { return nil },
	}
}

// A provider that keeps failing is skipped for a while if another provider can answer. While the
// provider is skipped, it gets no requests, and the error names the provider and the time at which
// it is tried again. After that time, a call tries the provider again.
func TestCircuitOpensAndCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{err: &retry.Error{Kind: retry.Overloaded, Message: "busy"}}
		m := guardedBy(f)
		for range circuitFailures {
			_ = ask(t, m)
		}
		err := ask(t, m)
		until := time.Now().Add(circuitPause).Format(time.TimeOnly)
		if f.calls != circuitFailures || !errors.Is(err, retry.ErrSkipped) ||
			!strings.Contains(err.Error(), "the provider corp failed 5 times in a row") ||
			!strings.Contains(err.Error(), "skipped until "+until) {
			t.Fatalf("%d calls, %v", f.calls, err)
		}
		if _, again := retry.Default().Next(1, err); again {
			t.Error("a skipped call is retried")
		}
		if e := retry.As(err); !retry.FallbackEligible(e.Kind) {
			t.Error("a skipped call has no fallback")
		}
		m.otherwise = false
		if _ = ask(t, m); f.calls != circuitFailures+1 {
			t.Error("the only provider is skipped")
		}
		m.otherwise = true
		time.Sleep(circuitPause + time.Second)
		f.err = nil
		for range 3 {
			if err := ask(t, m); err != nil {
				t.Fatal(err)
			}
		}
		if f.calls != circuitFailures+4 {
			t.Errorf("%d calls", f.calls)
		}
	})
}

// An error that says nothing about the health of a provider does not open its circuit breaker.
func TestCircuitCountsOnlyOutages(t *testing.T) {
	for _, err := range []error{
		context.Canceled, &retry.Error{Kind: retry.Auth}, &retry.Error{Kind: retry.Quota},
		&retry.Error{Kind: retry.Client}, &retry.Error{Kind: retry.ContextOverflow},
	} {
		f := &failing{err: err}
		m := guardedBy(f)
		for range 3 * circuitFailures {
			_ = ask(t, m)
		}
		if f.calls != 3*circuitFailures {
			t.Errorf("%v: %d calls", err, f.calls)
		}
	}
}

// Each provider has its own circuit breaker, which all sessions share. Two models from the same
// provider are not alternatives to each other.
func TestCircuitPerProvider(t *testing.T) {
	one, two := newEndpoint(t), newEndpoint(t)
	one.answer(503)
	p := testProviders(t)
	c := &config.Config{
		Model: "one/a", FallbackModels: []string{"one/b", "two/c"},
		Providers: map[string]config.Provider{
			"one": {BaseURL: one.URL + "/v1"}, "two": {BaseURL: two.URL + "/v1"},
		},
	}
	for range circuitFailures {
		chain, err := p.chain(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		_ = ask(t, chain[0])
	}
	chain, err := p.chain(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	one.requests()
	for _, m := range chain[:2] {
		if err := ask(t, m); !errors.Is(err, retry.ErrSkipped) {
			t.Errorf("%s: %v", m.Info().ID, err)
		}
	}
	if err := ask(t, chain[2]); err != nil || len(one.requests()) != 0 || len(two.requests()) != 1 {
		t.Errorf("the second provider: %v", err)
	}
	c.FallbackModels = []string{"one/b"}
	if chain, err = p.chain(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := ask(t, chain[0]); errors.Is(err, retry.ErrSkipped) || len(one.requests()) != 1 {
		t.Errorf("the only provider: %v", err)
	}
}
