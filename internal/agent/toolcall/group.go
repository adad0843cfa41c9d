package toolcall

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// edit is one call in a group of edits: an edit, or a read between edits. The edits of a group are
// proposed together and wait for the user at the same time.
type edit struct {
	class   Class
	earlier []*edit       // earlier calls of the same group
	blocked chan struct{} // closed when the call first waits for the user or for an earlier edit
	block   func()        // closes blocked; further calls have no effect
	ended   chan struct{} // closed when the call has its result

	mu    sync.Mutex
	files []string // files that the call changes or reads; a hook may replace the arguments
}

func newEdit(earlier []*edit, class Class) *edit {
	e := &edit{
		class: class, earlier: earlier, blocked: make(chan struct{}), ended: make(chan struct{}),
	}
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
		if !e.conflicts(o) {
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

// conflicts reports whether the order of two calls matters. It does if one of them changes a file
// that the other one changes or reads, by its own name or as part of a folder.
func (e *edit) conflicts(o *edit) bool {
	if e.class != Edits && o.class != Edits {
		return false
	}
	mine, others := e.names(), o.names()
	return slices.ContainsFunc(mine, func(n string) bool {
		return slices.ContainsFunc(others, func(m string) bool {
			return within(n, m) || within(m, n)
		})
	})
}

// within reports whether name is dir or below it.
func within(dir, name string) bool {
	rest, ok := strings.CutPrefix(name, dir)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], `/\`) || strings.HasSuffix(dir, "/"))
}

// moment is shared by calls that start together, and by calls about which the user is asked at the
// same time. Their questions belong together. The moment is over when each of its calls has
// arrived.
type moment struct {
	mu   sync.Mutex
	left map[*Slot]struct{} // slots that have not arrived
	all  chan struct{}
}

// begin assigns a moment to the calls that do not have one. A single call gets none.
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
