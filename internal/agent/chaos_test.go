package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/pause"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chaosRuns is the minimum number of random runs if AGENT_LSP_CHAOS is set, even on a slow machine.
const chaosRuns = 1000

// chaosBudget returns the minimum duration and the minimum number of the random runs. If
// AGENT_LSP_CHAOS is set, it is the duration, and the number is chaosRuns. Otherwise, the minimum
// is one second and one run.
func chaosBudget(t *testing.T) (time.Duration, int) {
	s := os.Getenv("AGENT_LSP_CHAOS")
	if s == "" {
		return time.Second, 1
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatalf("AGENT_LSP_CHAOS: %v", err)
	}
	return d, chaosRuns
}

// TestChaos checks several invariants with random models, tools, users, hooks and stores: pairing
// is valid after every event and record, no tool starts before its message is stored, events follow
// the grammar, no queued message is lost, every turn ends, and nothing is left running.
// AGENT_LSP_CHAOS_SEED replays one run.
func TestChaos(t *testing.T) {
	if s := os.Getenv("AGENT_LSP_CHAOS_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		bubble(t, func(t *testing.T) { newChaos(t, seed).play() })
		return
	}
	base := uint64(time.Now().UnixNano())
	budget, least := chaosBudget(t)
	end := time.Now().Add(budget)
	runs := 0
	for ; (time.Now().Before(end) || runs < least) && !t.Failed(); runs++ {
		seed := base + uint64(runs)
		bubble(t, func(t *testing.T) { newChaos(t, seed).play() })
		if t.Failed() {
			t.Logf("replay with AGENT_LSP_CHAOS_SEED=%d", seed)
		}
	}
	t.Logf("%d random runs in %v, all invariants satisfied: %t", runs, budget, !t.Failed())
}

// chaos is one random run. A single random source makes all choices. In a replay, goroutines may
// use the source in a different order, but the kinds of faults are the same.
type chaos struct {
	t     *testing.T
	s     *Session
	check checker

	mu  sync.Mutex
	rnd *rand.Rand

	small    bool            // whether the context window is small
	accepted map[string]bool // IDs of messages that the final history must contain
}

func newChaos(t *testing.T, seed uint64) *chaos {
	c := &chaos{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), accepted: map[string]bool{}}
	c.check = checker{t: t, open: map[string]string{}, ended: map[string]bool{},
		texts: map[string]string{}, stored: map[string]bool{}, synced: map[string]bool{}}
	if c.n(4) == 0 {
		c.check.fail = func() bool { return c.n(40) == 0 }
	}
	reg, err := tool.NewRegistry(c.tools()...)
	if err != nil {
		t.Fatal(err)
	}
	env := Step{Models: []Model{c}, Tools: reg, Limits: Limits{MaxModelCalls: 12},
		Repair: repair.Default()}
	if c.n(3) == 0 {
		env.Models = append(env.Models, c)
	}
	if c.small = c.n(3) == 0; c.small {
		env.Context.Window = 1500
	}
	if c.n(3) == 0 {
		env.SteeringMode, env.FollowUpMode = QueueOneAtATime, QueueAll
	}
	opts := Options{
		ID: "s", Sink: &c.check, Store: &c.check,
		Environment: EnvironmentFunc(func(context.Context, TurnInfo) (Step, error) {
			if c.n(60) == 0 {
				return Step{}, errors.New("no environment today")
			}
			return env, nil
		}),
		Bug: func(f string, args ...any) {
			if c.check.fail == nil {
				t.Errorf("bug: "+f, args...)
			}
		},
	}
	if c.n(3) == 0 {
		withHooks(&opts, chaosHook{c})
	}
	if c.n(3) > 0 {
		opts.Approver = c
	}
	c.s = NewSession(opts)
	return c
}

func (c *chaos) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rnd.IntN(n)
}

// nap sleeps for at most d, in the simulated time of the synctest bubble, or until ctx ends.
func (c *chaos) nap(ctx context.Context, d time.Duration) {
	_ = pause.For(ctx, time.Duration(c.n(int(d))))
}

func (c *chaos) Info() ModelInfo { return ModelInfo{ID: "chaos"} }

func (c *chaos) Generate(ctx context.Context, req *Request, on func(Delta)) (*Reply, error) {
	if !history.Paired(req.Messages) {
		c.t.Errorf("a request is not paired:\n%s", texts(req.Messages))
	}
	c.nap(ctx, time.Second)
	m := &message.Message{Stop: message.StopEnd}
	for range c.n(3) {
		s := fmt.Sprint("word", c.n(100), " ")
		on(Delta{Kind: DeltaText, Text: s})
		m.Content = append(m.Content, message.Block{Type: message.Text, Text: s})
	}
	switch c.n(20) {
	case 0:
		panic("model")
	case 1:
		c.nap(ctx, time.Hour)
		return nil, &retry.Error{Kind: retry.StreamIdle, Message: "silence"}
	case 2:
		time.Sleep(5 * time.Second) // ignores ctx
	case 3, 4:
		kinds := []retry.Kind{retry.Transient, retry.Auth, retry.RateLimit, retry.ContextOverflow,
			retry.Truncated}
		return nil, &retry.Error{Kind: kinds[c.n(len(kinds))], Message: "no"}
	case 5:
		m.Stop = message.StopLength
	case 6:
		m.Stop = message.StopContentFilter
	}
	if c.n(2) == 0 {
		c.addCalls(m, on)
	}
	if !c.small {
		m.Usage = &message.Usage{Input: 10, Output: 1, Total: 11}
	}
	return &Reply{Message: m}, ctx.Err()
}

func (c *chaos) addCalls(m *message.Message, on func(Delta)) {
	names := []string{"read", "READ", "write", "write", "ask", "slow", "deaf", "panic", "err",
		"nothing", ""}
	for i := range 1 + c.n(6) {
		call := call(fmt.Sprint("id", c.n(30)), names[c.n(len(names))], `{"a":1}`)
		switch c.n(10) {
		case 0:
			call.Args = nil
		case 1:
			call.Args, call.Problem, call.Raw = []byte(`{}`), "cut off", `{"a`
		}
		on(Delta{Kind: DeltaToolInput, Index: i, CallID: call.ID, Name: call.Name,
			Text: string(call.Args)})
		if c.n(8) > 0 {
			m.Content = append(m.Content, message.Block{Type: message.ToolUse, Call: &call})
		}
	}
}

func (c *chaos) tools() []tool.Tool {
	mk := func(name string, e tool.Effect, f func(context.Context, *tool.Call) (*tool.Result,
		error)) tool.Tool {
		return fake(name, e, func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
			c.check.toolStarts(call.ID, e)
			call.Emit("output")
			call.Report(tool.Update{Label: "busy", Plan: []tool.PlanEntry{{Content: "x",
				Status: "pending"}}})
			return f(ctx, call)
		})
	}
	ok := func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		c.nap(ctx, time.Second)
		return &tool.Result{Text: "fine", EndTurn: c.n(10) == 0}, nil
	}
	slow := mk("slow", tool.Mutates, func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
		c.nap(ctx, time.Minute)
		return nil, ctx.Err()
	})
	return []tool.Tool{
		mk("read", tool.ReadOnly, ok).(*funcTool).asked(),
		mk("write", tool.Mutates, ok).(*funcTool).asked(), slow,
		mk("ask", tool.ReadOnly, func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
			ctx, cancel := call.WaitContext(ctx)
			defer cancel()
			c.nap(ctx, time.Minute)
			return &tool.Result{Text: "answered"}, context.Cause(ctx)
		}),
		mk("deaf", tool.Mutates, func(context.Context, *tool.Call) (*tool.Result, error) {
			time.Sleep(time.Duration(c.n(int(4 * time.Second))))
			return &tool.Result{Text: "late"}, nil
		}),
		mk("panic", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result,
			error) {
			panic("tool")
		}),
		mk("err", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result,
			error) {
			return nil, errors.New("bad")
		}),
	}
}

// play simulates an impatient user of the session, and then checks that everything ends.
func (c *chaos) play() {
	for range 5 + c.n(20) {
		c.act()
		time.Sleep(time.Duration(c.n(int(3 * time.Second))))
	}
	c.drain()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := c.s.Close(ctx); err != nil && c.check.fail == nil {
		c.t.Errorf("close: %v", err)
	}
	synctest.Wait()
	c.verify()
}

func (c *chaos) act() {
	switch c.n(16) {
	case 0, 1, 2:
		acc, err := c.s.Prompt(Prompt{Content: text("prompt"), Pin: c.n(10) == 0})
		c.expect(acc.MessageID, err)
	case 3:
		acc, err := c.s.Prompt(Prompt{Content: text("later"), Delivery: DeliverQueue})
		c.expect(acc.MessageID, err)
	case 4, 5, 6:
		out, err := c.s.Steer(SteerRequest{Content: text("steer"), OneShot: c.n(4) == 0,
			IfIdle: []IfIdle{"", IdleQueue, IdleError}[c.n(3)]})
		if err == nil && out.MessageID != "" {
			c.steered(out)
		}
	case 7, 8:
		_, _ = c.s.Abort(AbortRequest{Silent: c.n(2) == 0})
	case 9:
		_ = c.s.Pause()
	case 10:
		_ = c.s.Resume()
	case 11:
		_, _ = c.s.Continue()
	case 12:
		m := message.NewText(message.RoleUser, "job")
		m.ID, m.Source = fmt.Sprint("job", c.n(1<<30)), message.SourceJob
		c.s.Notify(m, c.n(2) == 0)
		c.accepted[m.ID] = true
	case 14:
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, _ = c.s.Compact(ctx, "")
		cancel()
	case 15:
		c.pin()
	case 13:
		if q := c.s.Queue(); len(q) > 0 {
			id := q[c.n(len(q))].MessageID
			if _, err := c.s.Unqueue(id); err == nil || c.check.fail != nil {
				delete(c.accepted, id)
			}
		}
	}
}

// pin pins or unpins a random message.
func (c *chaos) pin() {
	msgs := c.s.Messages()
	if len(msgs) == 0 {
		return
	}
	ids := []string{msgs[c.n(len(msgs))].ID}
	if c.n(3) == 0 {
		_ = c.s.SetPins(nil, ids)
		return
	}
	_ = c.s.SetPins(ids, nil)
}

func (c *chaos) expect(id string, err error) {
	if err == nil {
		c.accepted[id] = true
	}
}

// If the steer is in the queue, steered records that the final history must contain it. A one-shot
// steer is never queued or stored.
func (c *chaos) steered(out SteerOutcome) {
	for _, q := range c.s.Queue() {
		if q.MessageID == out.MessageID {
			c.accepted[out.MessageID] = true
		}
	}
}
