package agent

import "sync"

// moment is shared by calls that start together, and those about which a person is asked ahead. What
// they ask belongs together: it is over when each has come to its question or gone past it. A nil
// moment is that of a lone call.
type moment struct {
	mu   sync.Mutex
	left map[*callRun]struct{} // have not come yet
	all  chan struct{}
}

// markMoments gives the calls that start at once their moment. Of a longer group those behind the first
// parallel ones start when others end: each alone.
func (b *batch) markMoments() {
	for from := 0; from < len(b.calls); {
		to := b.groupEnd(from)
		first := min(to, from+b.parallel())
		together := b.calls[from:first:first]
		if from == 0 {
			together = append(together, b.foreseen(b.calls[first:])...)
		}
		if together = withoutMoment(together); len(together) > 1 {
			newMoment(together)
		}
		from = to
	}
}

// withoutMoment leaves out the calls whose questions belong to an earlier moment.
func withoutMoment(calls []*callRun) (out []*callRun) {
	for _, c := range calls {
		if c.moment == nil {
			out = append(out, c)
		}
	}
	return out
}

func newMoment(calls []*callRun) {
	m := &moment{left: map[*callRun]struct{}{}, all: make(chan struct{})}
	for _, c := range calls {
		m.left[c] = struct{}{}
		c.moment = m
	}
}

// arrive says that c waits for a person now, or will not; again it does nothing.
func (m *moment) arrive(c *callRun) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.left[c]; !ok {
		return
	}
	delete(m.left, c)
	if len(m.left) == 0 {
		close(m.all)
	}
}

// gathered is closed when all have arrived.
func (m *moment) gathered() <-chan struct{} {
	if m == nil {
		return nil
	}
	return m.all
}
