package conn

import (
	"testing"

	"go.lsp.dev/jsonrpc2"
)

// Wait also waits until the messages that were held back for the responses are sent. A connection
// calls Wait before it ends, and could otherwise lose these messages.
func TestWaitingForRequestsIsWaitingForWhatTheirAnswersLetGo(t *testing.T) {
	var all Requests
	held, reported := make(chan struct{}), make(chan struct{})
	all.Add(jsonrpc2.NewNumberID(1), &Request{Answered: func() { close(held); <-reported }})
	before := all.Wait()
	ended := make(chan bool)
	go func() { ended <- all.Sent([]byte(`{"jsonrpc":"2.0","id":1,"result":null}`)) }()
	<-held
	for name, done := range map[string]<-chan struct{}{"before the answer": before,
		"after it": all.Wait()} {
		select {
		case <-done:
			t.Errorf("a wait that began %s ended although messages are held back", name)
		default:
		}
	}
	close(reported)
	if !<-ended {
		t.Error("the response was not recognized")
	}
	<-before
	<-all.Wait()
}

// Wait does not wait for requests that were settled, however they were answered.
func TestSettledRequestsAreNotWaitedFor(t *testing.T) {
	var all Requests
	id := jsonrpc2.NewStringID("local 1")
	all.Add(id, &Request{Answered: func() {}})
	if !all.settle(id) || all.settle(id) {
		t.Error("a request can be settled more than once")
	}
	select {
	case <-all.Wait():
	default:
		t.Error("Wait waits for a settled request")
	}
}
