package agent

import (
	"context"
	"sync"
	"time"
)

// startHold limits how long a starting turn may delay other turns, because a provider often takes
// longer to send the first token. It should cover the processor time of one start. A larger value
// would only delay many prompts to a slow provider.
const startHold = 2 * time.Millisecond

// Starts limits how many turns start concurrently. A start lasts from building the first request to
// the first token of the reply, but at most startHold. The other turns wait and start in order.
// Without the limit, many prompts that start together would keep the processors busy and delay the
// events of running turns. The sessions of a process share one Starts. It is safe for concurrent
// use.
type Starts struct{ places chan struct{} }

// NewStarts returns a Starts that lets n turns start concurrently.
func NewStarts(n int) *Starts { return &Starts{places: make(chan struct{}, n)} }

// enter waits for a slot, or until ctx ends. leave releases the slot and may be called more than
// once. If it is not called, the slot is released after startHold. A nil Starts has no limit.
func (s *Starts) enter(ctx context.Context) (leave func()) {
	if s == nil {
		return func() {}
	}
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	free := sync.OnceFunc(func() { <-s.places })
	hold := time.AfterFunc(startHold, free)
	return func() {
		hold.Stop()
		free()
	}
}
