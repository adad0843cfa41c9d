package mcp

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxStarting is how many servers may be starting at the same time. Ten servers that start
	// together would take every core from the user's other work.
	maxStarting = 2
	// startShare is how long a starting server that has not answered yet occupies its slot. A
	// server that hangs therefore delays the others only for this time.
	startShare = 500 * time.Millisecond
	// startPause is how long new servers wait for a prompt that arrives together with their
	// session, because the prompt's request to the model has priority. After the request has been
	// sent, they wait for the same time again, so that they do not delay the answer.
	startPause = 50 * time.Millisecond
	// pauseLimit limits a pause that prompts keep extending. Without it, many busy sessions would
	// extend the pause forever.
	pauseLimit = time.Second
	// holdLimit is the maximum duration of a Hold. A request that takes longer is waiting for the
	// user, so servers may start in the meantime.
	holdLimit = 30 * time.Second
)

// gate decides when a server may start: at most maxStarting at a time, in the order of their
// requests, and not while the gate is held. It does not poll but notifies each waiter.
type gate struct {
	mu       sync.Mutex
	holds    int
	pause    *time.Timer // the gate is held while this timer runs; nil: no pause
	since    time.Time   // when the pause first began
	starting int
	queue    []chan struct{} // one per waiting server; closed when that server may start
	waiting  []chan struct{} // closed when any task may start
}

// enter waits until a server may start. It returns false if ctx ended first. After a true result,
// the caller must call leave.
func (g *gate) enter(ctx context.Context) bool {
	turn := make(chan struct{})
	g.mu.Lock()
	g.queue = append(g.queue, turn)
	g.admit()
	g.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
		g.withdraw(turn)
		return false
	}
}

func (g *gate) withdraw(turn chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.queue, turn); i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
		return
	}
	g.starting-- // the server was admitted at the same time
	g.admit()
}

// leave frees the slot for the next server.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.starting--
	g.admit()
}

// admit admits as many servers as may start. The caller holds mu.
func (g *gate) admit() {
	if g.holds > 0 || g.pause != nil {
		return
	}
	for _, c := range g.waiting {
		close(c)
	}
	g.waiting = nil
	for g.starting < maxStarting && len(g.queue) > 0 {
		g.starting++
		close(g.queue[0])
		g.queue = g.queue[1:]
	}
}

// calm returns a channel that is closed when servers may start, after at least one pause.
func (g *gate) calm() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rest()
	c := make(chan struct{})
	g.waiting = append(g.waiting, c)
	return c
}

// hold keeps servers from starting until release is called or limit has passed, and for a pause
// after that.
func (g *gate) hold(limit time.Duration) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds++
	once := sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.holds--
		g.rest()
	})
	late := time.AfterFunc(limit, once)
	return func() { late.Stop(); once() }
}

// rest begins a pause, or restarts it up to pauseLimit. The caller holds mu.
func (g *gate) rest() {
	switch {
	case g.pause == nil:
		g.since = time.Now()
	case time.Since(g.since) > pauseLimit:
		return
	default:
		g.pause.Stop()
	}
	var own *time.Timer
	own = time.AfterFunc(startPause, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.pause == own { // otherwise another pause is running
			g.pause = nil
			g.admit()
		}
	})
	g.pause = own
}

// launch records when the server began to start.
func (s *server) launch(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.launched.IsZero() {
		s.launched = at
	}
}

// launchedAt returns when the server began to start, or zero while it waits for its turn.
func (s *server) launchedAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.launched
}

// share returns a function that lets the next server start. The caller calls it when this server
// has started or failed. It is called automatically after startShare. A server that is reached over
// HTTP does not occupy a slot, because the daemon starts no process for it.
func (s *server) share() (started func()) {
	leave := sync.OnceFunc(s.hub.gate.leave)
	if s.conf.URL != "" {
		leave()
		return leave
	}
	late := time.AfterFunc(startShare, leave)
	return func() { late.Stop(); leave() }
}
