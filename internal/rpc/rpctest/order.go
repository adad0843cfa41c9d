package rpctest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// CheckOrder returns the violations of the rules of protocol 1.3 in a daemon's messages, which must
// be in the order of their arrival. The main rules are:
//
//   - Sequence numbers have no gaps.
//   - No message for an item precedes its start or follows its end.
//   - No message for a turn, except about its proposals, follows its end.
//   - Deltas add up to the text.
//   - A response precedes the messages that its request causes.
//
// last maps each session to its last number on an earlier connection. The number is negative if the
// daemon was killed. After that, numbers continue with a gap. CheckOrder updates last.
func CheckOrder(log []*Message, last map[string]int64) []string {
	c := &orderCheck{last: last, items: map[string]*itemState{}, ended: map[string]bool{},
		begun: map[string]bool{}, answered: map[string]bool{}, proposals: map[string]string{}}
	for _, m := range log {
		c.take(m)
	}
	return c.found
}

type itemState struct {
	turn, kind string
	text       strings.Builder
	started    bool
	completed  bool
}

type orderCheck struct {
	last  map[string]int64
	items map[string]*itemState
	begun map[string]bool // turns that have started
	// turns that a response named; a repeated prompt may name a turn again
	answered  map[string]bool
	ended     map[string]bool
	proposals map[string]string // state of each proposal: open or closed
	found     []string
}

type orderParams struct {
	SessionID, TurnID, ItemID, Kind, Text string
	Seq                                   int64
	Replay                                bool
	Item                                  struct {
		ItemID, Type, Text, Name, Status, ProposalID,
		ParentItemID string
	}
	Proposal struct{ ProposalID, State string }
}

func (c *orderCheck) fail(m *Message, format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...)+": "+clip(m.String()))
}

func (c *orderCheck) take(m *Message) {
	var p orderParams
	if m.isAnswer() {
		c.answer(m)
		return
	}
	if !strings.HasPrefix(m.Method, "agent/") || json.Unmarshal(m.Params, &p) != nil {
		return
	}
	if !m.isRequest() {
		c.number(m, &p)
	}
	if p.Replay {
		return
	}
	if p.TurnID != "" && c.ended[p.TurnID] && !strings.HasPrefix(m.Method, "agent/proposal/") {
		c.fail(m, "this message has the ID of a turn that has ended")
	}
	switch m.Method {
	case "agent/turn/started":
		c.begun[p.TurnID] = true
	case "agent/turn/completed":
		c.endTurn(m, &p)
	case "agent/item/started", "agent/item/updated", "agent/item/completed":
		c.item(m, &p)
	case "agent/delta":
		c.delta(m, &p)
	case "agent/proposal/created", "agent/proposal/updated", "agent/proposal/closed":
		c.proposal(m, &p)
	}
}

// answer checks that a response with a turn ID precedes all messages for that turn.
func (c *orderCheck) answer(m *Message) {
	var res struct{ TurnID, Disposition, Outcome string }
	if len(m.Result) == 0 || json.Unmarshal(m.Result, &res) != nil {
		return
	}
	if (res.Disposition == "started" || res.Outcome == "startedTurn") && c.begun[res.TurnID] &&
		!c.answered[res.TurnID] {
		c.fail(m, "the response arrived after the start of its turn")
	}
	c.answered[res.TurnID] = true
}

func (c *orderCheck) number(m *Message, p *orderParams) {
	if p.SessionID == "" || p.Seq <= 0 {
		c.fail(m, "a notification without sessionId or seq")
		return
	}
	if p.Replay {
		return
	}
	switch before := c.last[p.SessionID]; {
	case before > 0 && p.Seq != before+1, before < 0 && p.Seq <= -before:
		c.fail(m, "seq %d after %d", p.Seq, max(before, -before))
	}
	c.last[p.SessionID] = p.Seq
}

func (c *orderCheck) endTurn(m *Message, p *orderParams) {
	if !c.begun[p.TurnID] {
		c.fail(m, "the end of a turn that was not started")
	}
	c.ended[p.TurnID] = true
	for id, it := range c.items {
		if it.turn == p.TurnID && it.started && !it.completed {
			c.fail(m, "item %s was not completed before its turn", id)
		}
	}
}

func (c *orderCheck) item(m *Message, p *orderParams) {
	id := p.Item.ItemID
	it := c.items[id]
	if it == nil {
		it = &itemState{turn: p.TurnID, kind: p.Item.Type}
		c.items[id] = it
	}
	switch m.Method {
	case "agent/item/started":
		if it.started {
			c.fail(m, "started twice")
		}
		it.started = true
	case "agent/item/updated":
		if !it.started || it.completed {
			c.fail(m, "updated before its start or after its end")
		}
	case "agent/item/completed":
		c.complete(m, p, it)
	}
}

func (c *orderCheck) complete(m *Message, p *orderParams, it *itemState) {
	if it.completed {
		c.fail(m, "completed twice")
	}
	it.completed = true
	streamed := p.Item.Type == "assistantMessage" || p.Item.Type == "reasoning"
	if streamed && it.started && it.text.String() != p.Item.Text {
		c.fail(m, "the deltas add up to %q", it.text.String())
	}
	switch p.Item.Status {
	case "pending", "awaitingPermission", "awaitingReview", "running":
		c.fail(m, "completed with a status that is not final")
	}
}

func (c *orderCheck) delta(m *Message, p *orderParams) {
	it := c.items[p.ItemID]
	if it == nil || !it.started || it.completed {
		c.fail(m, "a delta before its item's start or after its end")
		return
	}
	if p.Kind == "text" || p.Kind == "reasoning" {
		it.text.WriteString(p.Text)
	}
}

func (c *orderCheck) proposal(m *Message, p *orderParams) {
	id := p.Proposal.ProposalID
	switch {
	case m.Method == "agent/proposal/created":
		if c.proposals[id] == "closed" {
			c.fail(m, "created after it was closed")
		}
		c.proposals[id] = "open"
	case c.proposals[id] == "closed" && m.Method == "agent/proposal/closed":
		c.fail(m, "closed twice")
	case m.Method == "agent/proposal/closed":
		c.proposals[id] = "closed"
		if p.Proposal.State == "proposed" {
			c.fail(m, "closed as proposed")
		}
	}
}
