package app

import (
	"runtime/metrics"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// calmDelay is how long no turn must have run before a daemon returns memory. Most prompts that
// follow an answer take longer to write. A program that sends prompts one after another usually
// waits less, so the daemon does not return memory that it needs again for the next prompt.
const calmDelay = 500 * time.Millisecond

// calmBytes is how many bytes turns must have allocated before a daemon returns memory. The next
// prompt takes longer if the system must map its memory again, which a short turn does not justify.
const calmBytes = 2 << 20

// calm returns memory that the heap no longer needs to the system after the last running turn. A
// turn leaves garbage that the runtime would keep, because it collects a small heap only after
// several MiB of new objects. calm does nothing before the first turn has ended, because a
// collection would then touch more memory than it returns. calm is safe for concurrent use.
type calm struct {
	free      func()
	allocated func() uint64 // bytes that the program has allocated so far

	mu      sync.Mutex
	before  uint64      // bytes that had been allocated when memory was last returned
	running int         // turns
	timer   *time.Timer // nil after close
}

// heapAllocated returns how many bytes the program has allocated on the heap so far.
func heapAllocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func newCalm(free func(), allocated func() uint64) *calm {
	c := &calm{free: free, allocated: allocated, before: allocated()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(calmDelay, c.due)
	c.timer.Stop()
	return c
}

// watch counts the running turns. It does not block.
func (c *calm) watch(_ string, e agent.Event) {
	switch e.(type) {
	case agent.TurnStarted:
		c.count(1)
	case agent.TurnCompleted:
		c.count(-1)
	}
}

func (c *calm) count(turns int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running += turns
	switch {
	case c.timer == nil:
	case c.running > 0:
		c.timer.Stop()
	default:
		c.timer.Reset(calmDelay)
	}
}

func (c *calm) due() {
	c.mu.Lock()
	now := c.allocated()
	begins := c.timer != nil && c.running == 0 && now-c.before >= calmBytes
	if begins {
		c.before = now
	}
	c.mu.Unlock()
	if begins {
		c.free()
	}
}

// close prevents calm from returning memory again.
func (c *calm) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = nil
}
