package conn

import (
	"sync"
	"time"
)

// nudges are the pauses after a response before an empty message is sent to the client.
var nudges = []time.Duration{
	200 * time.Millisecond,
	400 * time.Millisecond,
	time.Second,
	3 * time.Second,
}

// Nudger sends a client empty messages some time after each response. Emacs's jsonrpc (before
// 1.0.17) does not process a message that it read together with a response until more input
// arrives. Without an empty message, the user might not see a question.
type Nudger struct {
	link *Link

	mu    sync.Mutex
	step  int
	timer *time.Timer
}

// NewNudger returns a nudger for a client.
func NewNudger(link *Link) *Nudger { return &Nudger{link: link} }

// Answered starts the pauses again. It never blocks.
func (n *Nudger) Answered() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.step = 0
	if n.timer == nil {
		n.timer = time.AfterFunc(nudges[0], n.nudge)
		return
	}
	n.timer.Reset(nudges[0])
}

func (n *Nudger) nudge() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.link.Context().Err() != nil {
		return
	}
	n.link.Log(MessageLog, "")
	if n.step++; n.step < len(nudges) {
		n.timer.Reset(nudges[n.step])
	}
}
