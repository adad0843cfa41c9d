package toolcall

import (
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Breakers contains a circuit breaker for each tool of a session. The zero value is ready to use.
// It is safe for concurrent use and never blocks.
type Breakers struct {
	mu sync.Mutex
	by map[string]*gobreaker.TwoStepCircuitBreaker[struct{}]
}

const (
	// BreakerFailures is the number of failures in a row that open a tool's breaker.
	BreakerFailures = 5
	// BreakerPause is the time for which an open breaker refuses calls before it allows one as a
	// probe.
	BreakerPause = 30 * time.Second
)

// The outcomes that are reported to a breaker.
var (
	// ErrFailed reports a failure of the tool.
	ErrFailed = errors.New("the tool failed")
	// ErrNotCounted has no effect on the breaker, because the call was denied, skipped or
	// cancelled.
	ErrNotCounted = errors.New("not counted")
)

// Allow returns an error if the tool must not run. Otherwise, the caller passes the outcome to
// done: nil, ErrFailed or ErrNotCounted.
func (b *Breakers) Allow(name string) (done func(error), err error) {
	b.mu.Lock()
	cb := b.by[name]
	if cb == nil {
		cb = newBreaker(name)
		if b.by == nil {
			b.by = map[string]*gobreaker.TwoStepCircuitBreaker[struct{}]{}
		}
		b.by[name] = cb
	}
	b.mu.Unlock()
	return cb.Allow()
}

func newBreaker(name string) *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        name,
		MaxRequests: 1,
		Timeout:     BreakerPause,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= BreakerFailures
		},
		IsExcluded: func(err error) bool { return errors.Is(err, ErrNotCounted) },
	})
}
