package agent

import (
	"errors"
	"sync"

	"github.com/sony/gobreaker/v2"
)

// breakers keeps one circuit breaker per tool. Denials, skips and cancellations count neither way.
type breakers struct {
	mu sync.Mutex
	by map[string]*gobreaker.TwoStepCircuitBreaker[struct{}]
}

var (
	errToolFailed = errors.New("the tool failed")
	errNotCounted = errors.New("not counted")
)

// allow asks whether the tool may run; done takes nil, errToolFailed or errNotCounted.
func (b *breakers) allow(tool string) (done func(error), err error) {
	b.mu.Lock()
	cb := b.by[tool]
	if cb == nil {
		cb = newBreaker(tool)
		if b.by == nil {
			b.by = map[string]*gobreaker.TwoStepCircuitBreaker[struct{}]{}
		}
		b.by[tool] = cb
	}
	b.mu.Unlock()
	return cb.Allow()
}

func newBreaker(tool string) *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        tool,
		MaxRequests: 1,
		Timeout:     BreakerPause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= BreakerFailures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNotCounted) },
	})
}
