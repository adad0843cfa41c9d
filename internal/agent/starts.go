package agent

import (
	"context"
	"sync"
	"time"
)

// startHold bounds how long a turn that starts may keep others waiting: a provider often needs
// longer for its first word. It is what the processor's part of a start takes at most; more would
// only hold up crowds that ask a slow provider.
const startHold = 2 * time.Millisecond

// Starts lets a few turns start at a time, from the building of the first request to the first word
// of its answer; the others wait their turn, in order. Without it a crowd of prompts would start
// all at once, and as long as they keep the processors busy the turns that already run would be
// told late. It is shared by the sessions of a process and is safe for concurrent use.
type Starts struct{ places chan struct{} }

// NewStarts returns a Starts for n turns at a time.
func NewStarts(n int) *Starts { return &Starts{places: make(chan struct{}, n)} }

// enter waits for a place, or for the end of ctx. The place is free again after leave, which may be
// called more than once, and in any case after startHold. A nil Starts has room for all.
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
