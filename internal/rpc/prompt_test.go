package rpc

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// toldParams are the params of session notifications that the tests check.
type toldParams struct {
	SessionID string
	Seq       int64
	TurnID    string
	ItemID    string
	Text      string
	Status    string
	Replay    bool
	Item      wire.Item
}

func paramsOf(t *testing.T, m msg) (p toldParams) {
	t.Helper()
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Fatalf("%s: %v", m, err)
	}
	return p
}

func TestPromptTellsATurnInOrder(t *testing.T) {
	c := claimed(t, harnessOptions{model: says("hello brave new world")})
	id := c.newSession()
	r := c.prompt(id, "hi")
	if r.Disposition != "started" || r.TurnID == "" || r.SessionID != id {
		t.Fatalf("the prompt was answered %+v", r)
	}
	c.wait("idle", func(m msg) bool {
		return m.Method == wire.MethodSessionUpdated &&
			strings.Contains(string(m.Params), `"status":"idle"`)
	})
	checkSeq(t, c)
	checkGrammar(t, c, r.TurnID)
	checkText(t, c, "hello brave new world")
	// The response is sent before the notifications that the request causes.
	_, answered := c.wait(
		"the answer",
		func(m msg) bool { return strings.Contains(string(m.Result), r.MessageID) },
	)
	_, started := c.wait("turn/started", isMethod(wire.MethodTurnStarted))
	if started < answered {
		t.Errorf("turn/started was sent before the response to the prompt")
	}
}

// checkSeq checks that the sequence numbers are 1, 2, 3 … without a gap.
func checkSeq(t *testing.T, c *testClient) {
	t.Helper()
	next := int64(1)
	for _, m := range c.messages() {
		if m.ID != nil || !strings.HasPrefix(m.Method, "agent/") {
			continue
		}
		if p := paramsOf(t, m); p.Replay {
			continue
		} else if p.Seq != next {
			t.Fatalf("%s has seq %d, want %d", m.Method, p.Seq, next)
		}
		next++
	}
}

// checkGrammar checks the order of a turn's messages: started, then items and deltas, then
// completed, and nothing after that.
func checkGrammar(t *testing.T, c *testClient, turnID string) {
	t.Helper()
	open, ended, begun := map[string]bool{}, false, false
	for _, m := range c.messages() {
		if m.ID != nil || !strings.HasPrefix(m.Method, "agent/") {
			continue
		}
		p := paramsOf(t, m)
		if p.TurnID != turnID {
			continue
		}
		if ended || !begun && m.Method != wire.MethodTurnStarted {
			t.Fatalf("%s is out of order", m)
		}
		switch m.Method {
		case wire.MethodTurnStarted:
			begun = true
		case wire.MethodItemStarted:
			open[p.Item.ItemID] = true
		case wire.MethodDelta:
			if !open[p.ItemID] {
				t.Fatalf("%s belongs to no open item", m)
			}
		case wire.MethodItemCompleted:
			if !open[p.Item.ItemID] {
				t.Fatalf("%s was not started", m)
			}
			delete(open, p.Item.ItemID)
		case wire.MethodTurnCompleted:
			ended = true
		}
	}
	if !ended || len(open) > 0 {
		t.Fatalf("the turn ended: %v, with open items %v", ended, open)
	}
}

// checkText checks that the deltas of the answer add up to its final text.
func checkText(t *testing.T, c *testClient, want string) {
	t.Helper()
	var deltas strings.Builder
	completed := ""
	for _, m := range c.messages() {
		switch p := paramsOf2(m); {
		case m.Method == wire.MethodDelta:
			deltas.WriteString(p.Text)
		case m.Method == wire.MethodItemCompleted && p.Item.Type == "assistantMessage":
			completed = *p.Item.Text
		}
	}
	if deltas.String() != want || completed != want {
		t.Errorf("deltas %q, completed %q, want %q", deltas.String(), completed, want)
	}
}

func paramsOf2(m msg) (p toldParams) {
	_ = json.Unmarshal(m.Params, &p)
	return p
}

func TestPromptWithoutSessionUsesTheCurrentOne(t *testing.T) {
	c := claimed(t, harnessOptions{})
	first := c.prompt("", "one")
	c.turnEnd(first.TurnID)
	second := c.prompt("", "two")
	if first.SessionID == "" || second.SessionID != first.SessionID {
		t.Errorf("sessions %q and %q, want one", first.SessionID, second.SessionID)
	}
	c.turnEnd(second.TurnID)
	other := c.newSession()
	if r := c.prompt("", "three"); r.SessionID != other {
		t.Errorf("the prompt went to %q, want the new session %q", r.SessionID, other)
	}
}

func TestPromptsAreQueuedInOrder(t *testing.T) {
	begun := make(chan struct{}, 10)
	c := claimed(t, harnessOptions{model: hangs(begun)})
	id := c.newSession()
	var ids []int
	for range 20 {
		ids = append(
			ids,
			c.request(wire.MethodPrompt, map[string]any{"sessionId": id, "prompt": "p"}),
		)
	}
	var want []string
	for i, req := range ids {
		var r wire.PromptResult
		if err := json.Unmarshal(c.answer(req).Result, &r); err != nil {
			t.Fatal(err)
		}
		if queued := r.Disposition == "queued"; queued != (i > 0) {
			t.Fatalf("prompt %d is %s", i, r.Disposition)
		}
		if i > 0 {
			want = append(want, r.MessageID)
		}
	}
	var q wire.QueueResult
	c.call(wire.MethodQueueList, map[string]any{"sessionId": id}, &q)
	var got []string
	for _, e := range q.Queue {
		got = append(got, e.MessageID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the queue is %v, want %v", got, want)
	}
	c.call(wire.MethodQueueRemove, map[string]any{"sessionId": id, "messageId": want[0]}, &q)
	if len(q.Queue) != len(want)-1 {
		t.Errorf("%d messages are left", len(q.Queue))
	}
	c.refused(
		wire.CodeNotFound,
		wire.MethodQueueRemove,
		map[string]any{"sessionId": id, "messageId": want[0]},
	)
	c.call(wire.MethodQueueClear, map[string]any{"sessionId": id}, &q)
	if len(q.Queue) != 0 {
		t.Errorf("%d messages are left after clear", len(q.Queue))
	}
}

func TestAbortGoesAheadAndEndsTheTurn(t *testing.T) {
	begun := make(chan struct{}, 1)
	c := claimed(t, harnessOptions{model: hangs(begun)})
	r := c.prompt("", "work")
	<-begun
	var a wire.AbortResult
	c.call(wire.MethodAbort, map[string]any{"sessionId": r.SessionID}, &a)
	if a.State != agent.AbortAborting {
		t.Errorf("abort answered %q", a.State)
	}
	if turn := c.turnEnd(r.TurnID); turn.Status != "aborted" || turn.AbortPhase != "inference" {
		t.Errorf("the turn ended %+v", turn)
	}
	c.wait(
		"idle",
		func(m msg) bool { return strings.Contains(string(m.Params), `"status":"idle"`) },
	)
	c.call(wire.MethodAbort, map[string]any{"sessionId": r.SessionID}, &a)
	if a.State != agent.AbortIdle {
		t.Errorf("a second abort answered %q", a.State)
	}
	checkSeq(t, c)
}

// An abort sent immediately after a prompt aborts that prompt's turn.
func TestAbortRightBehindAPrompt(t *testing.T) {
	begun := make(chan struct{}, 100)
	c := claimed(t, harnessOptions{model: hangs(begun)})
	id := c.newSession()
	for range 20 {
		p := c.request(wire.MethodPrompt, map[string]any{"sessionId": id, "prompt": "p"})
		a := c.request(wire.MethodAbort, map[string]any{"sessionId": id})
		var r wire.PromptResult
		if err := json.Unmarshal(c.answer(p).Result, &r); err != nil {
			t.Fatal(err)
		}
		c.answer(a)
		if turn := c.turnEnd(r.TurnID); turn.Status != "aborted" {
			t.Fatalf("the turn ended %+v", turn)
		}
		c.call(wire.MethodTurnWait, map[string]any{"sessionId": id, "turnId": r.TurnID}, nil)
	}
}

func TestClientMessageIDRunsOnce(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	c := claimed(t, harnessOptions{dir: dir, root: root})
	id := c.newSession()
	params := map[string]any{"sessionId": id, "prompt": "once", "clientMessageId": "m1"}
	var first, again wire.PromptResult
	c.call(wire.MethodPrompt, params, &first)
	c.turnEnd(first.TurnID)
	c.call(wire.MethodPrompt, params, &again)
	if again != first {
		t.Errorf("the repeated prompt returned %+v, want %+v", again, first)
	}
	c.close()
	c.served <- nil
	d := claimed(t, harnessOptions{dir: dir, root: root})
	d.call(wire.MethodPrompt, params, &again)
	if again != first {
		t.Errorf("after a restart it returned %+v, want %+v", again, first)
	}
}

func TestTurnWait(t *testing.T) {
	begun := make(chan struct{}, 1)
	c := claimed(t, harnessOptions{model: hangs(begun)})
	r := c.prompt("", "work")
	var turn wire.Turn
	c.call(wire.MethodTurnWait, map[string]any{"sessionId": r.SessionID, "timeoutMs": 1}, &turn)
	if turn.Status != "running" || turn.TurnID != r.TurnID {
		t.Errorf("a wait that timed out returned %+v", turn)
	}
	wait := c.request(
		wire.MethodTurnWait,
		map[string]any{"sessionId": r.SessionID, "messageId": r.MessageID},
	)
	c.notify(
		"$/cancelRequest",
		map[string]any{
			"id": c.request(wire.MethodTurnWait, map[string]any{"sessionId": r.SessionID}),
		},
	)
	if m := c.answer(wait + 1); m.Error == nil || m.Error.Code != wire.CodeRequestCancelled {
		t.Errorf("a cancelled wait answered %s", m)
	}
	<-begun
	c.call(wire.MethodAbort, map[string]any{"sessionId": r.SessionID}, nil)
	_, ended := c.wait("the turn's end", isTurnEnd(r.TurnID))
	_, answered := c.wait("the wait's answer", isAnswer(wait))
	if answered < ended {
		t.Error("the response to the wait was sent before turn/completed")
	}
}

// If a client's timeout is longer than a time.Duration can represent, the request waits for the end
// of the turn.
func TestTurnWaitIsBounded(t *testing.T) {
	begun := make(chan struct{}, 1)
	c := claimed(t, harnessOptions{model: hangs(begun)})
	r := c.prompt("", "work")
	wait := c.request(
		wire.MethodTurnWait,
		map[string]any{"sessionId": r.SessionID, "timeoutMs": int64(9_300_000_000_000)},
	)
	<-begun
	c.call(wire.MethodAbort, map[string]any{"sessionId": r.SessionID}, nil)
	var turn wire.Turn
	if m := c.answer(wait); json.Unmarshal(m.Result, &turn) != nil || turn.Status != "aborted" {
		t.Errorf("the wait answered %s", m)
	}
}
