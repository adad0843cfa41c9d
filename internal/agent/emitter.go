package agent

import "sync"

// emitter passes a session's events to its sink, one at a time and in order. It may be called while
// the session's lock is held. It never blocks and never calls back into the session.
type emitter struct {
	id   string
	sink Sink
	mu   sync.Mutex
}

func (e *emitter) emit(ev Event) {
	if e.sink == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sink.Emit(e.id, ev)
}
