package modelhttp

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// watchdog ends a call that waits too long for its provider. It measures only the time spent
// waiting for the provider, not the time that the receiver of the deltas takes.
type watchdog struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	limit time.Duration
	bark  *retry.Error
}

// start starts a wait that lasts at most d.
func (w *watchdog) start(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = d
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.fire)
		return
	}
	w.timer.Reset(d)
}

// stop ends the wait.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watchdog) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bark = &retry.Error{
		Kind: retry.StreamIdle, Message: "the provider sent nothing for " + w.limit.String(),
		Hint: retry.Hint(retry.StreamIdle),
	}
	w.cancel(w.bark)
}

// cause returns the reason why the watchdog ended the call, or nil.
func (w *watchdog) cause() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bark == nil {
		return nil
	}
	return w.bark
}

// watchedBody is a response body whose reads the watchdog limits.
type watchedBody struct {
	io.ReadCloser
	watch   *watchdog
	timeout time.Duration
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.start(b.timeout)
	defer b.watch.stop()
	return b.ReadCloser.Read(p)
}
