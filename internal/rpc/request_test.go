package rpc

import (
	"testing"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/host"
)

// Requests are done with when what waited for their answers has been told: who waits for them, as the end of the
// connection does, would else cut it off.
func TestWaitingForRequestsIsWaitingForWhatTheirAnswersLetGo(t *testing.T) {
	var all inbounds
	held, told := make(chan struct{}), make(chan struct{})
	r := &inbound{}
	all.add(jsonrpc2.NewNumberID(1), r)
	r.WhenAnswered(func() { close(held); <-told })
	before := all.wait()
	ended := make(chan bool)
	go func() { ended <- all.sent([]byte(`{"jsonrpc":"2.0","id":1,"result":null}`)) }()
	<-held
	for name, done := range map[string]<-chan struct{}{"before the answer": before, "after it": all.wait()} {
		select {
		case <-done:
			t.Errorf("who began to wait %s is through while something is held back", name)
		default:
		}
	}
	close(told)
	if !<-ended {
		t.Error("the answer is not known as one")
	}
	<-before
	<-all.wait()
}

// A request that is settled leaves nothing to wait for, whichever way its answer went.
func TestSettledRequestsAreNotWaitedFor(t *testing.T) {
	var all inbounds
	id := jsonrpc2.NewStringID("local 1")
	all.add(id, &inbound{})
	if !all.settle(id) || all.settle(id) {
		t.Error("a request is settled once")
	}
	select {
	case <-all.wait():
	default:
		t.Error("a settled request is waited for")
	}
}

// What a request causes is told after its answer, and only then is it settled, which the answer to a wait comes after.
func TestHoldKeepsEventsBehindTheAnswer(t *testing.T) {
	h, id, _, sent := slowClient(t)
	delivered := 0
	h.Watch(func(string, agent.Event) { delivered++ })
	var all inbounds
	r := &inbound{}
	all.add(jsonrpc2.NewNumberID(1), r)
	h.HoldFor(host.WithAnswer(t.Context(), r.WhenAnswered), id)
	h.Emit(id, agent.TurnStarted{TurnID: "t"})
	h.Emit(id, agent.TurnCompleted{Turn: agent.Turn{TurnID: "t"}})
	settled := h.Settled(id)
	select {
	case <-settled:
		t.Error("told before the answer")
	default:
	}
	if delivered != 0 {
		t.Errorf("%d notifications before the answer", delivered)
	}
	all.sent([]byte(`{"jsonrpc":"2.0","id":1,"result":null}`))
	<-settled
	if told := sent(); len(told) != 2 {
		t.Errorf("told %+v", told)
	}
}
