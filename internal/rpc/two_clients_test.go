package rpc

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// numbered returns the notifications of a session whose sequence number is greater than from, as
// JSON.
func (c *testClient) numbered(sessionID string, from int64) (out []string) {
	for _, m := range c.messages() {
		var s wire.Stamp
		if json.Unmarshal(m.Params, &s) == nil && s.SessionID == sessionID && s.Seq > from {
			out = append(out, string(m.Params))
		}
	}
	return out
}

// waitAfter returns the first matching message after the given log position.
func (c *testClient) waitAfter(place int, what string, fits func(msg) bool) msg {
	c.t.Helper()
	at := -1 // index of the message that wait is checking; wait checks each message only once
	m, _ := c.wait(what, func(m msg) bool {
		at++
		return at > place && fits(m)
	})
	return m
}

// Two clients of one session in the same process receive the same notifications in the same order.
// If one of them answers a question, it is answered for both. When one disconnects, the other one
// keeps the session.
func TestTwoClientsShareASession(t *testing.T) {
	one := asking2(t, false)
	two := claimed(t, harnessOptions{shares: one})
	id := one.newSession()
	var loaded wire.SessionLoadResult
	two.call(wire.MethodSessionLoad, map[string]any{"sessionId": id, "replay": true}, &loaded)
	one.prompt(id, "run it")
	asked, _ := one.wait("the question", isMethod(wire.MethodRequestPermission))
	again, _ := two.wait("the question", isMethod(wire.MethodRequestPermission))
	if string(asked.Params) != string(again.Params) {
		t.Errorf("asked %s and %s", asked.Params, again.Params)
	}
	two.send(map[string]any{"id": again.ID, "result": map[string]any{"optionId": "yes"}})
	one.wait("the end of the question", isMethod(wire.MethodRequestResolved))
	one.wait("its cancellation", isMethod("$/cancelRequest"))
	for _, c := range []*testClient{one, two} {
		_, ended := c.wait("the end of the turn", isMethod(wire.MethodTurnCompleted))
		c.waitAfter(ended, "the idle state", isMethod(wire.MethodSessionUpdated))
	}
	first, second := one.numbered(id, loaded.LastSeq), two.numbered(id, loaded.LastSeq)
	if len(first) == 0 || !slices.Equal(first, second) {
		t.Errorf("one got\n%q\nthe other\n%q", first, second)
	}
	one.close()
	r := two.prompt(id, "alone")
	own, _ := two.wait("its question", func(m msg) bool {
		isQuestion := m.Method == wire.MethodRequestPermission
		return isQuestion && strings.Contains(string(m.Params), r.TurnID)
	})
	two.send(map[string]any{"id": own.ID, "result": map[string]any{"optionId": "yes"}})
	two.turnEnd(r.TurnID)
}
