package host

import (
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// feed orders the notifications of one session. Every notification except those of a replay passes
// through put, so all subscribers see the same order. A notification gets its number when the
// subscribers are called.
type feed struct {
	host  *Host
	id    string
	store *session.Session

	mu      sync.Mutex
	held    int
	pending []func()
	last    int64 // the last number used
	// open contains the items that have started and not completed, as the subscribers have seen
	// them.
	open  map[string]*openItem
	order []string // the IDs of the open items, oldest first
	// proposals maps each pending proposal to the number of the notification that created it.
	proposals map[string]int64
}

// openItem is a started item and its text so far.
type openItem struct {
	turnID string
	seq    int64
	item   agent.Item
	text   strings.Builder
}

// Emit publishes an event of a session. It never blocks. The engine calls it.
func (h *Host) Emit(sessionID string, e agent.Event) {
	if f := h.feed(sessionID); f != nil {
		f.emit(e)
	}
}

func (h *Host) feed(sessionID string) *feed {
	h.feeds.mu.RLock()
	defer h.feeds.mu.RUnlock()
	return h.feeds.byID[sessionID]
}

func (h *Host) openFeed(store *session.Session) *feed {
	f := &feed{
		host: h, id: store.ID(), store: store,
		open: map[string]*openItem{}, proposals: map[string]int64{},
	}
	h.feeds.mu.Lock()
	defer h.feeds.mu.Unlock()
	h.feeds.byID[f.id] = f
	return f
}

func (h *Host) closeFeed(f *feed) {
	h.feeds.mu.Lock()
	defer h.feeds.mu.Unlock()
	if h.feeds.byID[f.id] == f {
		delete(h.feeds.byID, f.id)
	}
}

// barrier returns when all running calls of subscribers have returned.
func (f *feed) barrier() {
	f.mu.Lock()
	defer f.mu.Unlock()
}

// emit is put for an event. It creates a function only while the feed is held, because it is called
// for every piece of text.
func (f *feed) emit(e agent.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held > 0 {
		f.pending = append(f.pending, func() { f.deliver(e) })
		return
	}
	f.deliver(e)
}

// put calls do while it holds mu, either immediately or, while notifications are held back, in
// release.
func (f *feed) put(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held > 0 {
		f.pending = append(f.pending, do)
		return
	}
	do()
}

// hold defers all notifications until release. Calls of hold can be nested.
func (f *feed) hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held++
}

func (f *feed) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held--; f.held > 0 {
		return
	}
	for _, do := range f.pending {
		do()
	}
	f.pending = nil
}

// settled returns a channel that is closed after all functions that were passed to put earlier have
// run.
func (f *feed) settled() <-chan struct{} {
	done := make(chan struct{})
	f.put(func() { close(done) })
	return done
}

// next returns the next unused number.
func (f *feed) next() int64 {
	f.last = int64(f.store.NextSeq())
	return f.last
}

// tell notifies the subscribers and returns the notification's number, or 0 if there is no
// subscriber.
func (f *feed) tell(event any) int64 {
	subscribers := *f.host.clients.subscribers.Load()
	if len(subscribers) == 0 {
		return 0
	}
	n := Notification{SessionID: f.id, Seq: f.next(), Event: event}
	for _, s := range subscribers {
		s.Notify(n)
	}
	return n.Seq
}

// deliver publishes one event. It runs under mu.
func (f *feed) deliver(e agent.Event) {
	switch e := e.(type) {
	case agent.ItemDelta:
		f.delta(e)
		return
	case agent.TurnCompleted:
		// A client that has seen the end of a turn must find the complete turn after a crash. The
		// error is ignored, because the engine reports errors of its own writes.
		_ = f.store.Flush()
		f.tell(e)
	case agent.ItemStarted:
		f.started(e)
	case agent.ItemUpdated:
		if o := f.open[e.Item.ID]; o != nil {
			o.item = e.Item
		}
		f.tell(e)
	case agent.ItemCompleted:
		f.completed(e)
	case agent.StateChanged:
		f.changed(e)
	default:
		f.tell(e)
	}
	for _, watch := range *f.host.clients.watchers.Load() {
		(*watch)(f.id, e)
	}
}

func (f *feed) started(e agent.ItemStarted) {
	o := &openItem{turnID: e.TurnID, item: e.Item}
	o.text.WriteString(e.Item.Text)
	o.seq = f.tell(e)
	f.open[e.Item.ID] = o
	f.order = append(f.order, e.Item.ID)
}

// completed reports the end of an item and stores the item with its number.
func (f *feed) completed(e agent.ItemCompleted) {
	delete(f.open, e.Item.ID)
	for i, id := range f.order {
		if id == e.Item.ID {
			f.order = append(f.order[:i], f.order[i+1:]...)
			break
		}
	}
	seq := f.tell(e)
	if seq == 0 {
		seq = f.next() // even without a subscriber, a later replay needs a number
	}
	f.store.AddItem(session.Item{Seq: uint64(seq), TurnID: e.TurnID, Item: e.Item})
}

// delta is called for every piece of text, so it must be fast. With several subscribers, deltas do
// not merge, because a subscriber would interpret a number that it did not receive as a gap.
func (f *feed) delta(d agent.ItemDelta) {
	o := f.open[d.ItemID]
	if o != nil && (d.Kind == agent.DeltaText || d.Kind == agent.DeltaReasoning) {
		o.text.WriteString(d.Text)
	}
	subscribers := *f.host.clients.subscribers.Load()
	switch len(subscribers) {
	case 0:
		return
	case 1:
		if subscribers[0].Merge(f.id, d) {
			return
		}
	}
	seq := f.next()
	for _, s := range subscribers {
		s.Delta(f.id, seq, d)
	}
}

// changed reports the complete state of the session. If there is only one subscriber, the new state
// replaces a state that has not been sent yet.
func (f *feed) changed(e agent.StateChanged) {
	subscribers := *f.host.clients.subscribers.Load()
	if len(subscribers) == 1 && subscribers[0].Replace(f.id, f.last, e.State) {
		return
	}
	f.tell(e)
}

// proposal reports that a proposal has changed.
func (f *feed) proposal(e workspace.ProposalEvent) {
	f.put(func() {
		if e.Kind == workspace.Closed {
			delete(f.proposals, e.Proposal.ID)
		}
		seq := f.tell(e)
		if e.Kind == workspace.Created {
			f.proposals[e.Proposal.ID] = seq
		}
	})
}

// ProposalChanged notifies the subscribers that a proposal has changed. It never blocks. The
// workspace calls it.
func (h *Host) ProposalChanged(e workspace.ProposalEvent) {
	if f := h.feed(e.Proposal.SessionID); f != nil {
		f.proposal(e)
	}
	for _, watch := range *h.clients.proposals.Load() {
		(*watch)(e)
	}
}

// Settled returns a channel that is closed when the subscribers have been notified of all events of
// a session up to now. It returns nil if the session is not loaded.
func (h *Host) Settled(sessionID string) <-chan struct{} {
	if f := h.feed(sessionID); f != nil {
		return f.settled()
	}
	return nil
}

// CloseQuestion notifies the subscribers of a session that a question no longer needs an answer.
func (h *Host) CloseQuestion(sessionID, requestID string) {
	if f := h.feed(sessionID); f != nil {
		f.put(func() { f.tell(QuestionClosed{RequestID: requestID}) })
	}
}

// replay sends past events to one subscriber. It sends the completed items whose numbers are
// greater than since, then the open items with their text so far, and then the given proposals. It
// returns the last number used. The caller must have held the feed (HoldFor), so that no new events
// come in between.
func (f *feed) replay(
	to Subscriber,
	items []session.Item,
	since int64,
	proposals []workspace.ProposalEvent,
) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := int64(f.store.Entry().LastSeq)
	again := func(seq int64, event any) {
		// The event has no number if there was no subscriber or if another daemon wrote the item.
		if seq == 0 {
			seq = last
		}
		to.Notify(Notification{SessionID: f.id, Seq: seq, Replay: true, Event: event})
	}
	for _, it := range items {
		if int64(it.Seq) > since {
			again(int64(it.Seq), agent.ItemCompleted{TurnID: it.TurnID, Item: it.Item})
		}
	}
	for _, id := range f.order {
		o := f.open[id]
		it := o.item
		if o.text.Len() > 0 {
			it.Text = o.text.String()
		}
		again(o.seq, agent.ItemStarted{TurnID: o.turnID, Item: it})
	}
	for _, e := range proposals {
		again(f.proposals[e.Proposal.ID], e)
	}
	return last
}
