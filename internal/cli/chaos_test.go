package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// envChaos sets the duration of the random runs. envChaosSeed sets the seed of the first run.
	envChaos     = "AGENT_LSP_CHAOS"
	envChaosSeed = "AGENT_LSP_CHAOS_SEED"
	// envAtOnce sets the number of runs that are performed in parallel.
	envAtOnce = "AGENT_LSP_CHAOS_AT_ONCE"
	// chaosBrief is just long enough to check that the driver works.
	chaosBrief = 2 * time.Second
	// chaosAtOnce is the default for envAtOnce. chaosLeast is the minimum number of runs per minute
	// of a full chaos test. On a slow machine, these runs may exceed the test's duration.
	chaosAtOnce = 4
	chaosLeast  = 34
)

// TestOutsideChaos runs random turns against the real program. Meanwhile the test kills the daemon,
// the editor, commands and MCP servers, fills the disk, revokes permissions, changes files as
// another program would, and types, steers and aborts as a user would. It checks the invariants
// from outside, without using any of the daemon's code.
func TestOutsideChaos(t *testing.T) {
	budget, campaign := chaosBudget(t)
	seeds := chaosSeeds(t)
	began, least := time.Now(), 0
	if campaign {
		least = int(budget.Minutes() * chaosLeast)
	}
	tally := newTally()
	var workers sync.WaitGroup
	for range atOnce(t) {
		workers.Go(func() {
			for (time.Since(began) < budget || tally.get("runs") < least) && !t.Failed() {
				playWorld(t, seeds(), tally)
			}
		})
	}
	workers.Wait()
	t.Logf("chaos from outside: %s in %v", tally, time.Since(began).Round(time.Second))
	if campaign && least >= chaosLeast && runtime.GOOS == "linux" && !t.Failed() {
		for _, fault := range []string{"daemon killed", "command killed", "MCP server killed"} {
			if tally.get(fault) == 0 {
				t.Errorf("%s: never, so the driver no longer finds its target", fault)
			}
		}
	}
}

func chaosBudget(t *testing.T) (budget time.Duration, campaign bool) {
	text := os.Getenv(envChaos)
	if text == "" {
		return chaosBrief, false
	}
	budget, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", envChaos, err)
	}
	return budget, true
}

func atOnce(t *testing.T) int {
	text := os.Getenv(envAtOnce)
	if text == "" {
		return chaosAtOnce
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is not a number of runs", envAtOnce, text)
	}
	return n
}

// chaosSeeds returns a function that returns a new seed for each run. The same seed reproduces a
// run, as far as timing allows.
func chaosSeeds(t *testing.T) func() uint64 {
	var next atomic.Uint64
	next.Store(uint64(time.Now().UnixNano()))
	if text := os.Getenv(envChaosSeed); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", envChaosSeed, err)
		}
		next.Store(n - 1)
	}
	return func() uint64 { return next.Add(1) }
}

// playWorld performs one run. It reports failures together with the seed that reproduces them.
func playWorld(t *testing.T, seed uint64, tally *tally) {
	w := newWorld(t, seed, tally)
	defer w.cleanUp()
	if err := w.play(); err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, w.report())
		w.failed = true
	}
	tally.add("runs")
}

// tally counts events.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func newTally() *tally { return &tally{n: map[string]int{}} }

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[what]++
}

func (c *tally) get(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[what]
}

// String lists the event counts in a fixed order.
func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := fmt.Sprintf("%d runs", c.n["runs"])
	for _, what := range []string{"turns", "daemon killed", "editor died", "disk full",
		"command killed", "MCP server killed", "revoked", "file changed", "typed", "steered",
		"aborted",
		"restored", "accepted", "rejected"} {
		s += fmt.Sprintf(", %d %s", c.n[what], what)
	}
	return s
}

// oneIn returns true with a probability of 1/n.
func oneIn(rng *rand.Rand, n int) bool { return rng.IntN(n) == 0 }
