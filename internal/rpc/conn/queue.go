package conn

import "sync"

// Queue runs requests one after another in the order of their tickets. Tickets are taken by the
// reading goroutine, so they follow the order on the wire. A queued request may do fast I/O but
// must never wait for a turn or for the client. The zero value is ready to use.
type Queue struct {
	mu   sync.Mutex
	tail chan struct{} // closed when the last ticket is done
	busy int
}

// Ticket is a position in the queue.
type Ticket struct {
	queue *Queue
	prev  <-chan struct{}
	// done is nil for a ticket that waits for earlier tickets but does not delay later ones.
	done chan struct{}
}

// Take returns a ticket. The caller must call Enter and then Leave.
func (q *Queue) Take() Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := Ticket{queue: q, prev: q.tail, done: make(chan struct{})}
	q.tail = t.done
	q.busy++
	return t
}

// After returns a ticket that waits for all earlier tickets and does not delay later ones.
func (q *Queue) After() Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Ticket{queue: q, prev: q.tail}
}

// Idle reports whether no request runs or waits in the queue.
func (q *Queue) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy == 0
}

// Enter waits for the earlier tickets. It ignores cancellation, because earlier tickets never
// block.
func (t Ticket) Enter() {
	if t.prev != nil {
		<-t.prev
	}
}

// Leave lets the next ticket enter.
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
