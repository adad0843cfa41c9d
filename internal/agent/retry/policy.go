package retry

import (
	"errors"
	"math/rand/v2"
	"time"
)

// The default policy.
const (
	DefaultMaxRetries   = 3
	DefaultInitialDelay = time.Second
	DefaultMaxDelay     = time.Minute
	DefaultJitter       = 0.2
)

// Policy determines how often and when a failed call is retried. It is a plain value. To create
// one, start from Default.
type Policy struct {
	MaxRetries   int           // attempts after the first one; 0 or less means none
	InitialDelay time.Duration // delay before the first retry; it doubles for each further retry
	// MaxDelay bounds the delay, including a delay that the provider requests. 0 means
	// DefaultMaxDelay.
	MaxDelay time.Duration
	// Jitter j spreads a delay d over [d, d(1+j)]. Values of 1 and above spread it over [0, d].
	Jitter float64
	// Rand returns numbers in [0, 1). If it is nil, a default random source is used.
	Rand func() float64
}

// Default returns the policy that applies if nothing is configured.
func Default() Policy {
	return Policy{MaxRetries: DefaultMaxRetries, InitialDelay: DefaultInitialDelay,
		MaxDelay: DefaultMaxDelay, Jitter: DefaultJitter}
}

// Next reports whether to retry after err, and after which delay. attempt is the number of this
// retry, starting at 1.
func (p Policy) Next(attempt int, err error) (time.Duration, bool) {
	e := As(err)
	if attempt > p.MaxRetries || e == nil || !Retryable(e.Kind) || errors.Is(e, ErrSkipped) {
		return 0, false
	}
	return p.Delay(attempt, err), true
}

// Delay returns how long to wait before a retry. attempt is the number of this retry, starting at
// 1. The delay that the provider requests takes precedence over the backoff, but not over MaxDelay.
func (p Policy) Delay(attempt int, err error) time.Duration {
	limit := p.MaxDelay
	if limit <= 0 {
		limit = DefaultMaxDelay
	}
	if e := As(err); e != nil && e.RetryAfter > 0 {
		return min(e.RetryAfter, limit)
	}
	return min(p.spread(p.backoff(attempt, limit)), limit)
}

func (p Policy) backoff(attempt int, limit time.Duration) time.Duration {
	d := p.InitialDelay
	for i := 1; i < attempt && d < limit; i++ {
		d *= 2
	}
	return min(max(d, 0), limit)
}

func (p Policy) spread(d time.Duration) time.Duration {
	if p.Jitter <= 0 || d <= 0 {
		return d
	}
	random := p.Rand
	if random == nil {
		random = rand.Float64
	}
	if p.Jitter >= 1 {
		return time.Duration(random() * float64(d))
	}
	return d + time.Duration(random()*p.Jitter*float64(d))
}

// Retryable reports whether the same call may be sent again unchanged.
func Retryable(k Kind) bool {
	switch k {
	case RateLimit, Overloaded, Transient, StreamIdle, Truncated:
		return true
	}
	return false
}

// FallbackEligible reports whether another provider or model may succeed after an error of this
// kind.
func FallbackEligible(k Kind) bool {
	switch k {
	case RateLimit, Quota, Overloaded, Transient, StreamIdle, Truncated:
		return true
	}
	return false
}
