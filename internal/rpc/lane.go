package rpc

import "sync"

// lane runs requests one after another in the order of their tickets. Tickets are taken
// on the reading side, so the order is the wire's; what runs in the lane may do quick
// I/O but never waits for a turn or for the client.
type lane struct {
	mu   sync.Mutex
	tail chan struct{} // closed when the last ticket is done
	busy int
}

// ticket is a place in the lane.
type ticket struct {
	lane *lane
	prev <-chan struct{}
	done chan struct{} // nil: waits for those before it and lets those after it pass
}

// take returns a ticket; the caller must enter and then leave.
func (l *lane) take() ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := ticket{lane: l, prev: l.tail, done: make(chan struct{})}
	l.tail = t.done
	l.busy++
	return t
}

// after returns a ticket that waits for all taken before and holds up none.
func (l *lane) after() ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ticket{lane: l, prev: l.tail}
}

// idle reports whether nothing runs or waits in the lane.
func (l *lane) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy == 0
}

// enter waits for its turn. It heeds no cancellation: those before it are quick.
func (t ticket) enter() {
	if t.prev != nil {
		<-t.prev
	}
}

// leave lets the next one in.
func (t ticket) leave() {
	if t.done == nil {
		return
	}
	t.lane.mu.Lock()
	defer t.lane.mu.Unlock()
	t.lane.busy--
	if t.lane.tail == t.done {
		t.lane.tail = nil
	}
	close(t.done)
}
