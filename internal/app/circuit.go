package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

const (
	// circuitFailures is the number of consecutive calls that must fail before a provider is
	// skipped.
	circuitFailures = 5
	// circuitPause is how long a provider is skipped after circuitFailures failed calls.
	circuitPause = 30 * time.Second
)

// circuits contains one circuit breaker per provider. It is safe for concurrent use.
type circuits struct {
	mu sync.Mutex
	by map[string]*circuit
}

// circuit is the circuit breaker of a provider. It is safe for concurrent use.
type circuit struct {
	name    string // the provider's name for the user
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu    sync.Mutex
	until time.Time // when the provider is tried again; set when the circuit opens
}

// of returns the circuit breaker for the provider that key identifies. name is the provider's name
// for the user.
func (c *circuits) of(key, name string) *circuit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]*circuit{}
	}
	if c.by[key] == nil {
		c.by[key] = newCircuit(name)
	}
	return c.by[key]
}

func newCircuit(name string) *circuit {
	c := &circuit{name: name}
	c.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        name,
		MaxRequests: 1,
		Timeout:     circuitPause,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return n.ConsecutiveFailures >= circuitFailures
		},
		IsExcluded: func(err error) bool { return saysNothing(err) },
		IsSuccessful: func(err error) bool {
			e := retry.As(err)
			return err == nil || e != nil && !retry.Retryable(e.Kind)
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.until = time.Now().Add(circuitPause)
			}
		},
	})
	return c
}

// saysNothing reports whether an error is unrelated to the health of a provider, for example
// because the caller gave up, or because the account lacks a key or credit.
func saysNothing(err error) bool {
	e := retry.As(err)
	return err != nil && (e == nil || e.Kind == retry.Auth || e.Kind == retry.Quota)
}

// skipped returns the error for a call that the open circuit prevents.
func (c *circuit) skipped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &retry.Error{
		Kind: retry.Overloaded, Err: retry.ErrSkipped,
		Message: fmt.Sprintf(
			"the provider %s failed %d times in a row and is skipped until %s",
			c.name, circuitFailures, c.until.Format(time.TimeOnly),
		),
	}
}

// guardedModel is a model behind the circuit breaker of its provider. Its ID is the model
// reference.
type guardedModel struct {
	agent.Model
	ref     string
	circuit *circuit
	allowed func() error // returns the reason why the provider may not get a prompt, or nil
	// otherwise is set if a later model of the chain belongs to another provider. If it is not set,
	// the model is called even if its provider keeps failing, because no other provider is left to
	// try.
	otherwise bool
}

// Info returns the model's capabilities and the reference by which the user names the model.
func (m *guardedModel) Info() agent.ModelInfo {
	i := m.Model.Info()
	i.ID = m.ref
	return i
}

// Generate makes the call. It returns an error instead if the user has not agreed to use the
// provider, or if the provider keeps failing and a model of another provider can answer.
func (m *guardedModel) Generate(
	ctx context.Context, req *agent.Request, on func(agent.Delta),
) (*agent.Reply, error) {
	if err := m.allowed(); err != nil {
		return nil, err
	}
	done, err := m.circuit.breaker.Allow()
	if err != nil {
		if m.otherwise {
			return nil, m.circuit.skipped()
		}
		return m.Model.Generate(ctx, req, on)
	}
	outcome := errors.New("the model panicked")
	defer func() { done(outcome) }()
	reply, err := m.Model.Generate(ctx, req, on)
	outcome = err
	return reply, err
}
