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

// Policy says how often and after how long a failed call is tried again. It is a plain
// value; fill it from Default.
type Policy struct {
	MaxRetries   int           // tries after the first; 0 or less: none
	InitialDelay time.Duration // before the first retry, doubled for each further one
	MaxDelay     time.Duration // bounds the delay, a provider's wish included; 0: DefaultMaxDelay
	// Jitter j spreads a delay d over [d, d(1+j)]; 1 and more over [0, d].
	Jitter float64
	// Rand gives numbers in [0, 1); nil: a random source.
	Rand func() float64
}

// Default returns the policy that holds when nothing is set.
func Default() Policy {
	return Policy{MaxRetries: DefaultMaxRetries, InitialDelay: DefaultInitialDelay,
		MaxDelay: DefaultMaxDelay, Jitter: DefaultJitter}
}

// Next says whether retry number attempt (from 1) is made after err, and after which delay.
func (p Policy) Next(attempt int, err error) (time.Duration, bool) {
	e := As(err)
	if attempt > p.MaxRetries || e == nil || !Retryable(e.Kind) || errors.Is(e, ErrSkipped) {
		return 0, false
	}
	return p.Delay(attempt, err), true
}

// Delay returns how long to wait before retry number attempt (from 1). What the provider
// asked for wins over the backoff, never over MaxDelay.
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

// Retryable says whether the same call may be sent again as it is.
func Retryable(k Kind) bool {
	switch k {
	case RateLimit, Overloaded, Transient, StreamIdle, Truncated:
		return true
	}
	return false
}

// FallbackEligible says whether another provider or model may heal an error of the kind.
func FallbackEligible(k Kind) bool {
	switch k {
	case RateLimit, Quota, Overloaded, Transient, StreamIdle, Truncated:
		return true
	}
	return false
}
