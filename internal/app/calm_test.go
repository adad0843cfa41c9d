package app

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// TestCalm checks that memory is returned to the system after the last running turn has ended, if
// turns have allocated enough. It is not returned after the start, during a turn, between turns
// that follow each other, or after calm is closed.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var freed atomic.Int32
		var allocated atomic.Uint64
		c := newCalm(func() { freed.Add(1) }, allocated.Load)
		expect := func(when string, want int32) {
			t.Helper()
			synctest.Wait()
			if freed := freed.Load(); freed != want {
				t.Errorf("%s: memory was returned %d times, want %d", when, freed, want)
			}
		}
		time.Sleep(2 * calmDelay)
		expect("after the start", 0)
		for range 3 {
			c.watch("a", agent.TurnStarted{})
			time.Sleep(calmDelay / 2)
			c.watch("b", agent.TurnStarted{})
			c.watch("a", agent.TurnCompleted{})
			time.Sleep(2 * calmDelay)
			c.watch("b", agent.ItemDelta{})
			c.watch("b", agent.TurnCompleted{})
			time.Sleep(calmDelay / 2)
		}
		expect("while turns follow each other", 0)
		allocated.Store(calmBytes - 1)
		time.Sleep(5 * calmDelay)
		expect("after turns that allocated little", 0)
		c.watch("a", agent.TurnStarted{})
		c.watch("a", agent.TurnCompleted{})
		allocated.Store(calmBytes)
		time.Sleep(5 * calmDelay)
		expect("after the turns", 1)
		c.watch("a", agent.TurnStarted{})
		c.watch("a", agent.TurnCompleted{})
		c.close()
		c.watch("a", agent.TurnCompleted{})
		time.Sleep(5 * calmDelay)
		expect("after the end", 1)
	})
}
