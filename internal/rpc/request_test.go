package rpc

import (
	"testing"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
)

// The notifications that a request causes are sent after its response. Only then does the session
// become settled, and callers that wait for it continue.
func TestHoldKeepsEventsBehindTheAnswer(t *testing.T) {
	h, id, _, sent := slowClient(t)
	delivered := 0
	h.Clients().Watch(func(string, agent.Event) { delivered++ })
	var all conn.Requests
	r := &agentapi.Request{}
	all.Add(jsonrpc2.NewNumberID(1), &conn.Request{Answered: r.Answered})
	h.HoldFor(host.WithAnswer(t.Context(), r.WhenAnswered), id)
	h.Emit(id, agent.TurnStarted{TurnID: "t"})
	h.Emit(id, agent.TurnCompleted{Turn: agent.Turn{TurnID: "t"}})
	settled := h.Settled(id)
	select {
	case <-settled:
		t.Error("settled before the response")
	default:
	}
	if delivered != 0 {
		t.Errorf("%d notifications before the response", delivered)
	}
	all.Sent([]byte(`{"jsonrpc":"2.0","id":1,"result":null}`))
	<-settled
	if reported := sent(); len(reported) != 2 {
		t.Errorf("reported %+v", reported)
	}
}
