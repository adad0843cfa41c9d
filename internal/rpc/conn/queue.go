package conn

import "sync"

// Queue runs requests one after another in the order of their tickets. Tickets are taken
// on the reading side, so the order is the wire's. A request in the queue may do quick
// I/O but never waits for a turn or for the client. The zero value is ready.
type Queue struct {
	mu   sync.Mutex
	tail chan struct{} // closed when the last Ticket is done
	busy int
}

// Ticket is a position in the queue.
type Ticket struct {
	queue *Queue
	prev  <-chan struct{}
	done  chan struct{} // nil: waits for those before it and lets those after it pass
}

// Take returns a ticket. The caller must enter and then leave.
func (q *Queue) Take() Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := Ticket{queue: q, prev: q.tail, done: make(chan struct{})}
	q.tail = t.done
	q.busy++
	return t
}

// After returns a ticket that waits for all tickets taken before it and delays none.
func (q *Queue) After() Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Ticket{queue: q, prev: q.tail}
}

// Idle reports whether nothing runs or waits in the queue.
func (q *Queue) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy == 0
}

// Enter waits for the tickets before it. It ignores cancellation because they are quick.
func (t Ticket) Enter() {
	if t.prev != nil {
		<-t.prev
	}
}

// Leave lets the next one in.
func (t Ticket) Leave() {
	if t.done == nil {
		return
	}
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	t.queue.busy--
	if t.queue.tail == t.done {
		t.queue.tail = nil
	}
	close(t.done)
}
