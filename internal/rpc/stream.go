package rpc

import (
	"strconv"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// stream is the sequence of one session's notifications. Whatever tells something of the
// session goes through put, so that there is one order; seq is given when the frame is
// queued. Nothing here blocks.
type stream struct {
	hub   *hub
	id    string
	store *session.Session

	mu        sync.Mutex
	held      int
	pending   []func()
	last      int64                // the last seq given
	open      map[string]*openItem // started and not completed, as the client knows them
	order     []string             // their ids, oldest first
	proposals map[string]int64     // pending proposals: seq of their creation
	state     *wire.SessionUpdated // as last told
}

// openItem is an item that has started, with its text so far.
type openItem struct {
	turnID string
	seq    int64
	item   agent.Item
	text   strings.Builder
}

// put delivers something now, or once the stream is not held any more. f runs under mu.
func (st *stream) put(f func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.held > 0 {
		st.pending = append(st.pending, f)
		return
	}
	f()
}

// hold keeps everything back until release. Holds nest.
func (st *stream) hold() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.held++
}

func (st *stream) release() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.held--; st.held > 0 {
		return
	}
	for _, f := range st.pending {
		f()
	}
	st.pending = nil
}

// settled returns a channel that is closed when everything put before is delivered.
func (st *stream) settled() <-chan struct{} {
	done := make(chan struct{})
	st.put(func() { close(done) })
	return done
}

// next gives the next number.
func (st *stream) next() int64 {
	st.last = int64(st.store.NextSeq())
	return st.last
}

func (st *stream) stamp() wire.Stamp { return wire.Stamp{SessionID: st.id, Seq: st.next()} }

// deliver tells one event. It runs under mu.
func (st *stream) deliver(e agent.Event) {
	if d, ok := e.(agent.ItemDelta); ok {
		st.delta(d)
		return
	}
	switch e := e.(type) {
	case agent.TurnStarted:
		st.tell(wire.MethodTurnStarted, func(s wire.Stamp) any {
			return wire.TurnStarted{Stamp: s, TurnID: e.TurnID, MessageIDs: nonNil(e.MessageIDs)}
		})
	case agent.TurnCompleted:
		_ = st.store.Flush() // who was told that it ended finds all of it after a crash; an error is shown by the engine's writes
		st.tell(wire.MethodTurnCompleted, func(s wire.Stamp) any {
			return wire.TurnCompleted{Stamp: s, TurnID: e.Turn.TurnID, Turn: turnTo(e.Turn)}
		})
	case agent.ItemStarted:
		st.started(e)
	case agent.ItemUpdated:
		if o := st.open[e.Item.ID]; o != nil {
			o.item = e.Item
		}
		st.item(wire.MethodItemUpdated, e.TurnID, e.Item)
	case agent.ItemCompleted:
		st.completed(e)
	case agent.Retrying:
		st.tell(wire.MethodRetry, func(s wire.Stamp) any {
			return wire.RetryScheduled{
				Stamp: s, TurnID: e.TurnID, Attempt: e.Attempt, MaxRetries: e.MaxRetries,
				DelayMs: e.Delay.Milliseconds(), Error: wire.RetryError{Kind: e.Kind, Message: e.Message},
			}
		})
	case agent.Compacted:
		st.tell(wire.MethodCompaction, func(s wire.Stamp) any {
			return wire.Compaction{
				Stamp: s, TurnID: e.TurnID, Strategy: e.Strategy, TokensBefore: e.TokensBefore,
				TokensAfter: e.TokensAfter, MessagesBefore: e.MessagesBefore, MessagesAfter: e.MessagesAfter,
			}
		})
	case agent.StateChanged:
		st.changed(e.State)
	}
	if st.hub.watch != nil {
		st.hub.watch(st.id, e)
	}
}

// tell queues a notification and returns its seq.
func (st *stream) tell(method string, params func(wire.Stamp) any) int64 {
	if !st.hub.attached.Load() {
		return 0
	}
	s := st.stamp()
	st.hub.tell(st.id, method, params(s))
	return s.Seq
}

func (st *stream) item(method, turnID string, it agent.Item) int64 {
	return st.tell(method, func(s wire.Stamp) any {
		return wire.ItemEvent{Stamp: s, TurnID: turnID, Item: itemTo(it)}
	})
}

func (st *stream) started(e agent.ItemStarted) {
	o := &openItem{turnID: e.TurnID, item: e.Item}
	o.text.WriteString(e.Item.Text)
	o.seq = st.item(wire.MethodItemStarted, e.TurnID, e.Item)
	st.open[e.Item.ID] = o
	st.order = append(st.order, e.Item.ID)
}

// completed tells of an item's end and stores it with its number.
func (st *stream) completed(e agent.ItemCompleted) {
	delete(st.open, e.Item.ID)
	for i, id := range st.order {
		if id == e.Item.ID {
			st.order = append(st.order[:i], st.order[i+1:]...)
			break
		}
	}
	seq := st.item(wire.MethodItemCompleted, e.TurnID, e.Item)
	if seq == 0 {
		seq = st.next() // nobody listens, but a later replay needs a number
	}
	st.store.AddItem(session.Item{Seq: uint64(seq), TurnID: e.TurnID, Item: e.Item})
}

// delta is the hot path: encoded by hand, merged where one of the item still waits.
func (st *stream) delta(d agent.ItemDelta) {
	if o := st.open[d.ItemID]; o != nil && (d.Kind == agent.DeltaText || d.Kind == agent.DeltaReasoning) {
		o.text.WriteString(d.Text)
	}
	if !st.hub.attached.Load() {
		return
	}
	if st.hub.listener != nil {
		st.hub.listener.Delta(st.id, d)
		return
	}
	key := jsonrpc.DeltaKey{ItemID: d.ItemID, Kind: string(d.Kind)}
	if st.hub.out.Merge(st.id, key, d.Text) {
		return
	}
	st.hub.out.PutDelta(st.id, key, deltaPrefix(st.id, st.next(), d), d.Text, d.Kind == agent.DeltaToolOutput)
}

// deltaPrefix is a delta's frame up to the opening quote of its text. Ids are opaque but
// ours or a client's, so they are escaped too.
func deltaPrefix(sessionID string, seq int64, d agent.ItemDelta) []byte {
	b := make([]byte, 0, 256+len(d.Text)+len(d.Text)/8)
	b = append(b, `{"jsonrpc":"2.0","method":"`+wire.MethodDelta+`","params":{"sessionId":"`...)
	b = jsonrpc.AppendEscaped(b, sessionID)
	b = append(b, `","seq":`...)
	b = strconv.AppendInt(b, seq, 10)
	b = append(b, `,"turnId":"`...)
	b = jsonrpc.AppendEscaped(b, d.TurnID)
	b = append(b, `","itemId":"`...)
	b = jsonrpc.AppendEscaped(b, d.ItemID)
	b = append(b, `","kind":"`...)
	b = append(b, d.Kind...)
	return append(b, `","text":"`...)
}

// changed tells the session's state whole; one that still waits is replaced.
func (st *stream) changed(state agent.State) {
	u := updatedFrom(state)
	st.state = u
	if !st.hub.attached.Load() {
		return
	}
	u.SessionID = st.id
	if st.hub.listener != nil {
		u.Seq = st.next()
		st.hub.tell(st.id, wire.MethodSessionUpdated, u)
		return
	}
	encode := func() []byte { return notification(wire.MethodSessionUpdated, u) }
	u.Seq = st.last // a replaced notification's number is the session's last
	if st.hub.out.ReplaceState(st.id, encode) {
		return
	}
	u.Seq = st.next()
	st.hub.out.PutState(st.id, encode())
}

// proposal tells what happened to a proposal.
func (st *stream) proposal(e workspace.ProposalEvent) {
	st.put(func() {
		p := proposalTo(e.Proposal)
		switch e.Kind {
		case workspace.Created:
			st.proposals[e.Proposal.ID] = st.tell(wire.MethodProposalCreated, func(s wire.Stamp) any {
				return wire.ProposalCreated{Stamp: s, Proposal: p, Diff: e.Diff}
			})
		case workspace.Updated:
			st.tell(wire.MethodProposalUpdated, func(s wire.Stamp) any {
				return wire.ProposalChanged{Stamp: s, Proposal: p}
			})
		case workspace.Closed:
			delete(st.proposals, e.Proposal.ID)
			st.tell(wire.MethodProposalClosed, func(s wire.Stamp) any {
				return wire.ProposalChanged{Stamp: s, Proposal: p}
			})
		}
	})
}

// resolved tells that a request of ours became moot.
func (st *stream) resolved(requestID string) {
	st.put(func() {
		st.tell(wire.MethodRequestResolved, func(s wire.Stamp) any {
			return wire.RequestResolved{Stamp: s, RequestID: requestID}
		})
	})
}

// replay tells the past again: completed items above since, then open items with their
// text so far, then pending proposals. It returns the last number given. The caller holds
// the stream, so that nothing new comes between.
func (st *stream) replay(items []session.Item, since int64, proposals []wire.ProposalCreated) int64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	last := int64(st.store.Entry().LastSeq)
	again := func(seq int64) wire.Stamp {
		if seq == 0 { // never told: nobody listened, or it was another daemon
			seq = last
		}
		return wire.Stamp{SessionID: st.id, Seq: seq, Replay: true}
	}
	for _, it := range items {
		if int64(it.Seq) <= since {
			continue
		}
		st.hub.tell(st.id, wire.MethodItemCompleted,
			wire.ItemEvent{Stamp: again(int64(it.Seq)), TurnID: it.TurnID, Item: itemTo(it.Item)})
	}
	for _, id := range st.order {
		o := st.open[id]
		it := o.item
		if o.text.Len() > 0 {
			it.Text = o.text.String()
		}
		st.hub.tell(st.id, wire.MethodItemStarted,
			wire.ItemEvent{Stamp: again(o.seq), TurnID: o.turnID, Item: itemTo(it)})
	}
	for _, p := range proposals {
		p.Stamp = again(st.proposals[p.Proposal.ProposalID])
		st.hub.tell(st.id, wire.MethodProposalCreated, p)
	}
	return last
}

// notification encodes a whole message.
func notification(method string, params any) []byte {
	body := encode(params)
	b := make([]byte, 0, len(body)+len(method)+48)
	b = append(b, `{"jsonrpc":"2.0","method":"`...)
	b = append(b, method...)
	b = append(b, `","params":`...)
	b = append(b, body...)
	return append(b, '}')
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
