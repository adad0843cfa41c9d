package rpc

import (
	"context"
	"slices"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// heldBack holds back a session's notifications until release is called, as during a request.
func heldBack(h *host.Host, id string) (release func()) {
	h.HoldFor(host.WithAnswer(context.Background(), func(f func()) { release = f }), id)
	return release
}

// A question is sent after the response to the request that started its turn, and after all earlier
// notifications.
func TestAQuestionOvertakesNothing(t *testing.T) {
	c := claimed(t, harnessOptions{})
	var made wire.SessionNewResult
	c.call("agent/session/new", map[string]any{}, &made)
	h := c.server.api.Host()
	release := heldBack(h, made.SessionID) // held back, as during a prompt request
	h.Emit(made.SessionID, agent.TurnStarted{TurnID: "t"})
	asked := make(chan host.Answer)
	go func() {
		r, _ := h.Questions().
			Put(context.Background(), host.Question{SessionID: made.SessionID, Text: "Which?"})
		asked <- r
	}()
	// Give the question time to arrive if it was not held back.
	c.call("agent/session/list", map[string]any{}, nil)
	release()
	_, reported := c.wait(
		"turn/started",
		func(m msg) bool { return m.Method == wire.MethodTurnStarted },
	)
	q, at := c.wait("the question", func(m msg) bool { return m.Method == wire.MethodAsk })
	if at < reported {
		t.Errorf("the question was message %d, the turn's start was message %d", at, reported)
	}
	c.send(map[string]any{"id": q.ID, "result": map[string]any{"answer": "that"}})
	if r := <-asked; r.Text != "that" {
		t.Errorf("answered %+v", r)
	}
}

// Each time a client loads a session, the open questions are repeated before the response.
func TestOpenQuestionsPrecedeTheLoadsAnswer(t *testing.T) {
	c := claimed(t, harnessOptions{})
	id := c.newSession()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = c.core.Host.Questions().Put(ctx, host.Question{SessionID: id, Text: "which?"})
	}()
	c.wait("the question", isMethod(wire.MethodAsk))
	for range 20 {
		before := len(c.messages())
		_, answered := c.wait(
			"the answer",
			isAnswer(
				c.request(wire.MethodSessionLoad, map[string]any{"sessionId": id, "replay": true}),
			),
		)
		if !slices.ContainsFunc(c.messages()[before:answered], isMethod(wire.MethodAsk)) {
			t.Fatal("the response to the load came before the repeated question")
		}
	}
	cancel()
	<-ended
}
