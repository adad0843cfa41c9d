package agent

import (
	"sync"
	"time"
)

// callClock measures how long the tool of a call works and reports when its time is up. It stands still while the
// tool waits for the user. All methods may be called at any time, also on a nil clock, which measures nothing.
type callClock struct {
	limit    time.Duration // 0: none
	up, gone func()        // called once: at the limit, and when the grace after it is over too

	mu     sync.Mutex
	worked time.Duration // before since
	since  time.Time     // zero while the clock stands
	waits  int
	isUp   bool
	timer  *time.Timer
}

// start lets the clock run.
func (k *callClock) start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runLocked()
}

func (k *callClock) runLocked() {
	k.since = time.Now()
	if k.limit > 0 && !k.isUp {
		k.timer = time.AfterFunc(k.limit-k.worked, k.reached)
	}
}

func (k *callClock) reached() {
	k.mu.Lock()
	due := !k.isUp && !k.since.IsZero() && k.worked+time.Since(k.since) >= k.limit
	if due {
		k.isUp = true
		k.timer = time.AfterFunc(toolGrace, k.gone)
	}
	k.mu.Unlock()
	if due {
		k.up()
	}
}

// pause stops the clock until every pause was resumed. The returned function may be called more than once.
func (k *callClock) pause() (resume func()) {
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

// stop ends the clock's reports.
func (k *callClock) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isUp = true
	if k.timer != nil {
		k.timer.Stop()
	}
}

// elapsed is how long the tool has worked.
func (k *callClock) elapsed() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.since.IsZero() {
		return k.worked
	}
	return k.worked + time.Since(k.since)
}
