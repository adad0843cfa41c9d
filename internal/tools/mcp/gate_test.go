package mcp

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/tools/mcp/mcptest"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// starters simulates servers that wait at a gate. The names of the servers that the gate admits are
// appended to in.
type starters struct {
	g    gate
	in   []string
	stop map[string]context.CancelFunc
}

func (s *starters) come(names ...string) {
	if s.stop == nil {
		s.stop = map[string]context.CancelFunc{}
	}
	for _, name := range names {
		ctx, stop := context.WithCancel(context.Background())
		s.stop[name] = stop
		go func() {
			if s.g.enter(ctx) {
				s.g.mu.Lock()
				s.in = append(s.in, name)
				s.g.mu.Unlock()
			}
		}()
		synctest.Wait() // so that the servers arrive in order
	}
}

func (s *starters) want(t *testing.T, when string, names ...string) {
	t.Helper()
	synctest.Wait()
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	got := slices.Clone(s.in)
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("%s: %q have started, not %q", when, got, names)
	}
}

func (s *starters) end() {
	for _, stop := range s.stop {
		stop()
	}
	synctest.Wait()
}

func TestGateLetsInAFewInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s starters
		defer s.end()
		s.come("a", "b", "c", "d", "e")
		s.want(t, "at first", "a", "b")
		s.stop["c"]()
		synctest.Wait()
		s.g.leave()
		s.want(t, "after one has started and one gave up", "a", "b", "d")
		s.g.leave()
		s.g.leave()
		s.g.leave()
		s.want(t, "after all", "a", "b", "d", "e")
	})
}

func TestGateHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s starters
		defer s.end()
		first, second := s.g.hold(holdLimit), s.g.hold(holdLimit)
		s.come("a", "b")
		s.want(t, "while it is held")
		first()
		first()
		time.Sleep(2 * startPause)
		s.want(t, "while it is held once more")
		time.Sleep(holdLimit - startPause - 1)
		s.want(t, "just before the limit's pause is over")
		time.Sleep(time.Nanosecond)
		s.want(t, "at the limit", "a", "b")
		second()
		s.g.leave()
		s.g.leave()
		release := s.g.hold(holdLimit)
		s.come("c")
		time.Sleep(2 * startPause)
		s.want(t, "while it is held again", "a", "b")
		release()
		time.Sleep(startPause - 1)
		s.want(t, "while the request is left alone", "a", "b")
		time.Sleep(time.Nanosecond)
		s.want(t, "at the end", "a", "b", "c")
	})
}

func TestGatePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s starters
		defer s.end()
		var ran atomic.Int32
		later := func() {
			c := s.g.calm()
			go func() { <-c; ran.Add(1) }()
			synctest.Wait()
		}
		later()
		s.come("a", "b", "c")
		time.Sleep(startPause / 2)
		later()
		time.Sleep(startPause - 1)
		s.want(t, "in the pause")
		time.Sleep(time.Nanosecond)
		s.want(t, "after the pause", "a", "b")
		if n := ran.Load(); n != 2 {
			t.Errorf("after the pause %d ran", n)
		}

		release := s.g.hold(holdLimit)
		later()
		time.Sleep(2 * startPause)
		s.want(t, "held after the pause", "a", "b")
		release()
		time.Sleep(startPause)
		synctest.Wait()
		if n := ran.Load(); n != 3 { // a waiting task does not occupy a slot
			t.Errorf("after the hold %d ran", n)
		}
	})
}

// Even if prompts follow each other without a pause, servers are started after a while.
func TestGatePausesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s starters
		defer s.end()
		first := s.g.hold(holdLimit)
		s.come("a")
		first()
		for began := time.Now(); time.Since(began) < pauseLimit+
			2*startPause; time.Sleep(startPause / 2) {
			s.g.hold(holdLimit)()
		}
		s.want(t, "between the prompts", "a")
	})
}

// starting returns the names of the servers that are neither ready nor failed.
func (w *world) starting() string {
	var names []string
	for _, st := range w.hub.Status() {
		if st.State == "starting" {
			names = append(names, st.Name)
		}
	}
	return strings.Join(names, " ")
}

// Tasks that are scheduled with Later run after the hub is released, but never after it is closed.
func TestHubRunsLaterWhatIsNotUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, ran := New(Options{}), make(chan string, 3)
		want := func(when string, n int) {
			t.Helper()
			synctest.Wait()
			if len(ran) != n {
				t.Errorf("%s %d have run", when, len(ran))
			}
		}
		release := hub.Hold()
		hub.Later(func() { ran <- "first" })
		time.Sleep(2 * startPause)
		want("while the hub is held", 0)
		release()
		time.Sleep(startPause)
		want("after it was let go", 1)
		hub.Hold()
		hub.Later(func() { ran <- "second" })
		hub.Close()
		hub.Later(func() { ran <- "third" })
		time.Sleep(2 * holdLimit)
		want("in a hub that is closed", 1)
	})
}

// While the hub is held, no server starts. After it is released, all servers start, and one that
// hangs delays the others only briefly.
func TestHubStartsServersWhenItIsLetGo(t *testing.T) {
	w := start(t)
	// The servers that hang must still be starting at the end, even on a slow machine.
	w.hub.opts.listTimeout = patience
	release := w.hub.Hold()
	var confs []Config
	for i, mode := range []string{"hang", "hang", "hang", "plain", "plain"} {
		confs = append(confs, Config{Name: fmt.Sprint("s", i), Command: os.Args[0],
			Env: append(os.Environ(), mcptest.Variable+"="+mode)})
	}
	w.hub.Configure(confs)
	// Each iteration takes as long as starting a server.
	for began := time.Now(); time.Since(began) < 2*startPause; {
		one, err := w.hub.opts.Runner.Start(t.Context(),
			shell.Command{Argv: []string{os.Args[0]},
				Env: append(os.Environ(), mcptest.Variable+"=exit")})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = one.Wait()
	}
	for _, s := range w.hub.sorted() {
		if !s.launchedAt().IsZero() {
			t.Errorf("%s has started", s.conf.Name)
		}
	}
	if got := w.starting(); got != "s0 s1 s2 s3 s4" {
		t.Errorf("starting: %s", got)
	}
	release()
	for !hasTool(w, "s3_echo") || !hasTool(w, "s4_echo") {
		<-w.changed
	}
	if got := w.starting(); got != "s0 s1 s2" {
		t.Errorf("starting: %s", got)
	}
}
