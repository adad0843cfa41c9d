package toolcall

import (
	"context"
	"slices"
	"sync"
)

// edit is a call in a group of consecutive edits, which are proposed together and wait for the user
// at the same time.
type edit struct {
	earlier []*edit       // of its group
	blocked chan struct{} // closed when it first waits, for the user or for an earlier edit
	block   func()        // closes blocked; later calls do nothing
	ended   chan struct{} // closed when it has its result

	mu    sync.Mutex
	files []string // the locks that it takes; a hook may replace the arguments
}

func newEdit(earlier []*edit) *edit {
	e := &edit{earlier: earlier, blocked: make(chan struct{}), ended: make(chan struct{})}
	e.block = sync.OnceFunc(func() { close(e.blocked) })
	return e
}

func (e *edit) lock(names []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.files = names
}

func (e *edit) names() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.files
}

func (e *edit) awaitEarlier(ctx context.Context) {
	for _, o := range e.earlier {
		select {
		case <-o.ended:
			continue
		default:
		}
		if !e.shares(o) {
			continue
		}
		e.block()
		select {
		case <-o.ended:
		case <-ctx.Done():
			return
		}
	}
}

func (e *edit) shares(o *edit) bool {
	mine, others := e.names(), o.names()
	return slices.ContainsFunc(mine, func(n string) bool { return slices.Contains(others, n) })
}

// moment is shared by calls that start together, and by those about which the user is asked with
// them. What they ask belongs together. The moment is over when each of them has arrived.
type moment struct {
	mu   sync.Mutex
	left map[*Slot]struct{} // have not arrived
	all  chan struct{}
}

// begin gives a moment to the calls that do not have one. A single call gets none.
func begin(slots []*Slot) {
	slots = slices.DeleteFunc(slices.Clone(slots), func(s *Slot) bool { return s.moment != nil })
	if len(slots) < 2 {
		return
	}
	m := &moment{left: map[*Slot]struct{}{}, all: make(chan struct{})}
	for _, s := range slots {
		m.left[s] = struct{}{}
		s.moment = m
	}
}

func (m *moment) arrive(s *Slot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.left[s]; !ok {
		return
	}
	delete(m.left, s)
	if len(m.left) == 0 {
		close(m.all)
	}
}
