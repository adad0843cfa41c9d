package workspace

import (
	"sync"
)

// EventKind describes what happened to a proposal.
type EventKind string

// The events, with the names of their notifications.
const (
	Created EventKind = "created"
	Updated EventKind = "updated"
	Closed  EventKind = "closed"
)

// ProposalEvent is passed to Options.OnProposal. Events of one proposal arrive in order and with
// increasing revisions.
type ProposalEvent struct {
	Kind     EventKind
	Proposal Proposal
	Diff     string // only for Created
}

// eventQueue runs callbacks one at a time, in the order in which they were queued, without holding
// a lock. If a caller flushes during another flush, the other flush does the work.
type eventQueue struct {
	mu      sync.Mutex
	queue   []func()
	running bool
}

func (q *eventQueue) put(f func()) {
	q.mu.Lock()
	q.queue = append(q.queue, f)
	q.mu.Unlock()
}

func (q *eventQueue) flush() {
	q.mu.Lock()
	if q.running {
		q.mu.Unlock()
		return
	}
	q.running = true
	for len(q.queue) > 0 {
		f := q.queue[0]
		q.queue = q.queue[1:]
		q.mu.Unlock()
		f()
		q.mu.Lock()
	}
	q.running = false
	q.mu.Unlock()
}

// flush runs the queued callbacks. Never call it with mu held.
func (w *Workspace) flush() { w.events.flush() }

// deliver flushes and waits until everything queued so far has been sent.
func (w *Workspace) deliver() {
	done := make(chan struct{})
	w.events.put(func() { close(done) })
	w.flush()
	<-done
}

// emit queues an event with the proposal's current state. The caller holds mu.
func (w *Workspace) emit(p *proposal, kind EventKind) { w.emitAs(p, kind, p.phase) }

// emitAs works like emit for a proposal that is about to enter a phase. The caller holds mu.
func (w *Workspace) emitAs(p *proposal, kind EventKind, phase proposalPhase) {
	if w.opt.OnProposal == nil || p.kind == restoreProposal {
		return
	}
	e := ProposalEvent{Kind: kind, Proposal: w.view(p)}
	e.Proposal.State = proposalShown[phase]
	if kind == Created {
		e.Diff = p.diff
	}
	w.events.put(func() { w.opt.OnProposal(e) })
}
