package rpc

import (
	"sync"
	"time"
)

// nudges are the pauses after an answer before a client is sent a message that says nothing.
var nudges = []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, time.Second, 3 * time.Second}

// nudger sends a client messages that say nothing, some time after each answer. Emacs's
// jsonrpc (until 1.0.17) leaves unread what it read along with an answer, until something
// more comes: without this a question could stay unseen.
type nudger struct {
	s *server

	mu    sync.Mutex
	step  int
	timer *time.Timer
}

// answered begins the pauses anew. It never blocks.
func (n *nudger) answered() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.step = 0
	if n.timer == nil {
		n.timer = time.AfterFunc(nudges[0], n.nudge)
		return
	}
	n.timer.Reset(nudges[0])
}

func (n *nudger) nudge() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.s.ctx.Err() != nil {
		return
	}
	n.s.peer.Log(messageLog, "")
	if n.step++; n.step < len(nudges) {
		n.timer.Reset(nudges[n.step])
	}
}

// sent takes note of a body that was queued.
func (s *server) sent(body []byte) {
	if s.inbounds.sent(body) {
		if n := s.nudger.Load(); n != nil {
			n.answered()
		}
	}
}
