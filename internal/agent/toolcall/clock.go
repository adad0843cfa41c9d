package toolcall

import (
	"sync"
	"time"
)

// Clock measures how long a call's tool works, and cancels the call when the time limit is reached.
// It is stopped while the tool waits for the user. Its methods are safe for concurrent use. Pause
// may be called on a nil Clock and then does nothing.
type Clock struct {
	limit    time.Duration // 0 means no limit
	up, gone func()        // called at the limit and when the overtime is over

	mu     sync.Mutex
	worked time.Duration // total of the completed work periods
	since  time.Time     // zero while the clock is stopped
	waits  int
	isUp   bool
	timer  *time.Timer
}

// NewClock returns a stopped clock. limit is the maximum time that the tool may work. 0 means no
// limit.
func NewClock(limit time.Duration) *Clock { return &Clock{limit: limit} }

// start starts the clock.
func (k *Clock) start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runLocked()
}

func (k *Clock) runLocked() {
	k.since = time.Now()
	if k.limit > 0 && !k.isUp {
		k.timer = time.AfterFunc(k.limit-k.worked, k.reached)
	}
}

func (k *Clock) reached() {
	k.mu.Lock()
	due := !k.isUp && !k.since.IsZero() && k.worked+time.Since(k.since) >= k.limit
	if due {
		k.isUp = true
		k.timer = time.AfterFunc(Overtime, k.gone)
	}
	k.mu.Unlock()
	if due {
		k.up()
	}
}

// Pause stops the clock until every pause has been resumed. The caller may call resume more than
// once.
func (k *Clock) Pause() (resume func()) {
	if k == nil {
		return func() {}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waits++; k.waits == 1 && !k.since.IsZero() {
		k.worked += time.Since(k.since)
		k.since = time.Time{}
		if k.timer != nil && !k.isUp {
			k.timer.Stop()
		}
	}
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.waits--; k.waits == 0 {
			k.runLocked()
		}
	})
}

// stop prevents further calls of up and gone. It does not affect Elapsed.
func (k *Clock) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isUp = true
	if k.timer != nil {
		k.timer.Stop()
	}
}

// Elapsed returns the time that the tool has worked.
func (k *Clock) Elapsed() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.since.IsZero() {
		return k.worked
	}
	return k.worked + time.Since(k.since)
}
