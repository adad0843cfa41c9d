package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
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
	"github.com/agent-lsp/agent-lsp/internal/pause"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chaosRuns is how many random runs a campaign makes at least, however slow the machine is.
const chaosRuns = 1000

// chaosBudget is how long the random runs take at least: AGENT_LSP_CHAOS, a duration, which also asks for
// chaosRuns; without it a short look.
func chaosBudget(t *testing.T) (time.Duration, int) {
	s := os.Getenv("AGENT_LSP_CHAOS")
	if s == "" {
		return 3 * time.Second, 1
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatalf("AGENT_LSP_CHAOS: %v", err)
	}
	return d, chaosRuns
}

// Invariants 1, 2, 6, 7 and 8 under random models, tools, people, hooks and stores:
// pairing holds after every event and record, no tool starts before its message is stored,
// the event grammar holds, nothing queued is lost, every turn ends, nothing is left running.
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
	t.Logf("%d random runs in %v, every invariant held: %t", runs, budget, !t.Failed())
}

// chaos is one random run. Its choices come from one source; the order in which
// goroutines draw from it may differ between replays, the kinds of trouble do not.
type chaos struct {
	t     *testing.T
	s     *Session
	check checker

	mu  sync.Mutex
	rnd *rand.Rand

	small    bool            // whether the window is
	accepted map[string]bool // message ids that must end in the history
}

func newChaos(t *testing.T, seed uint64) *chaos {
	c := &chaos{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), accepted: map[string]bool{}}
	c.check = checker{t: t, open: map[string]string{}, ended: map[string]bool{}, texts: map[string]string{}, stored: map[string]bool{}}
	if c.n(4) == 0 {
		c.check.fail = func() bool { return c.n(40) == 0 }
	}
	reg, err := NewRegistry(c.tools()...)
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Models: []Model{c}, Tools: reg, Limits: Limits{MaxModelCalls: 12}, Repair: repair.Default()}
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
		Env: func() (Env, error) {
			if c.n(60) == 0 {
				return Env{}, errors.New("no environment today")
			}
			return env, nil
		},
		Bug: func(f string, args ...any) {
			if c.check.fail == nil {
				t.Errorf("bug: "+f, args...)
			}
		},
	}
	if c.n(3) == 0 {
		opts.Hooks = []Hook{chaosHook{c}}
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

// nap sleeps for up to d of the bubble's time, as long as ctx lives.
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
		time.Sleep(5 * time.Second) // deaf
	case 3, 4:
		kinds := []retry.Kind{retry.Transient, retry.Auth, retry.RateLimit, retry.ContextOverflow, retry.Truncated}
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
	names := []string{"read", "READ", "write", "write", "ask", "slow", "deaf", "panic", "err", "nothing", ""}
	for i := range 1 + c.n(6) {
		call := call(fmt.Sprint("id", c.n(30)), names[c.n(len(names))], `{"a":1}`)
		switch c.n(10) {
		case 0:
			call.Args = nil
		case 1:
			call.Args, call.Problem, call.Raw = []byte(`{}`), "cut off", `{"a`
		}
		on(Delta{Kind: DeltaToolInput, Index: i, CallID: call.ID, Name: call.Name, Text: string(call.Args)})
		if c.n(8) > 0 {
			m.Content = append(m.Content, message.Block{Type: message.ToolUse, Call: &call})
		}
	}
}

func (c *chaos) tools() []Tool {
	mk := func(name string, e Effect, f func(context.Context, *Call) (*Result, error)) Tool {
		return tool(name, e, func(ctx context.Context, call *Call) (*Result, error) {
			c.check.toolStarts(call.ID)
			call.Emit("output")
			call.Report(Update{Label: "busy", Plan: []PlanEntry{{Content: "x", Status: "pending"}}})
			return f(ctx, call)
		})
	}
	ok := func(ctx context.Context, call *Call) (*Result, error) {
		c.nap(ctx, time.Second)
		return &Result{Text: "fine", EndTurn: c.n(10) == 0}, nil
	}
	slow := mk("slow", Mutates, func(ctx context.Context, _ *Call) (*Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}).(*funcTool)
	slow.spec.CancelOnSteer = true
	return []Tool{
		askedTool{mk("read", ReadOnly, ok).(*funcTool)}, askedTool{mk("write", Mutates, ok).(*funcTool)}, slow,
		mk("ask", ReadOnly, func(ctx context.Context, call *Call) (*Result, error) {
			ctx, cancel := call.WaitContext(ctx)
			defer cancel()
			c.nap(ctx, time.Minute)
			return &Result{Text: "answered"}, context.Cause(ctx)
		}),
		mk("deaf", Mutates, func(context.Context, *Call) (*Result, error) {
			time.Sleep(time.Duration(c.n(int(4 * time.Second))))
			return &Result{Text: "late"}, nil
		}),
		mk("panic", ReadOnly, func(context.Context, *Call) (*Result, error) { panic("tool") }),
		mk("err", ReadOnly, func(context.Context, *Call) (*Result, error) { return nil, errors.New("bad") }),
	}
}

func (c *chaos) Approve(ctx context.Context, req ApprovalRequest) (Decision, error) {
	switch c.n(6) {
	case 0:
		return Decision{Reason: "policy"}, nil
	case 1, 2:
		req.Waiting()
		c.nap(ctx, time.Minute)
		return Decision{Allow: c.n(2) == 0}, context.Cause(ctx)
	case 3:
		panic("approver")
	}
	return Decision{Allow: true}, nil
}

func (c *chaos) Foresee(ctx context.Context, req ApprovalRequest) *Decision {
	switch c.n(6) {
	case 0:
		return nil
	case 1:
		panic("foreseer")
	}
	req.Waiting()
	c.nap(ctx, time.Minute)
	return &Decision{Allow: c.n(3) > 0}
}

// askedTool has something to ask about.
type askedTool struct{ *funcTool }

func (askedTool) Subject(json.RawMessage) *Subject { return &Subject{Kind: SubjectCommand} }

type chaosHook struct{ c *chaos }

func (h chaosHook) HookName() string           { return "chaos" }
func (h chaosHook) HookTimeout() time.Duration { return time.Second }
func (h chaosHook) trouble(ctx context.Context) error {
	switch h.c.n(30) {
	case 0:
		panic("hook")
	case 1:
		<-ctx.Done()
	case 2:
		return errors.New("hook says no")
	}
	return nil
}
func (h chaosHook) BeforeRun(ctx context.Context, _ string) error     { return h.trouble(ctx) }
func (h chaosHook) BeforeModel(ctx context.Context, _ *Request) error { return h.trouble(ctx) }
func (h chaosHook) BeforeTool(ctx context.Context, _ *Call, _ Spec) (ToolOutcome, error) {
	return ToolOutcome{}, h.trouble(ctx)
}
func (h chaosHook) AfterTool(ctx context.Context, _ *Call, _ *Result) (*Result, error) {
	return nil, h.trouble(ctx)
}
func (h chaosHook) SessionStarts(ctx context.Context, _ SessionInfo) (string, error) {
	return "context", h.trouble(ctx)
}
func (h chaosHook) SessionEnds(ctx context.Context, _ SessionInfo) error { return h.trouble(ctx) }
func (h chaosHook) BeforePrompt(ctx context.Context, _ string, _ *message.Message) (string, error) {
	return []string{"", "told"}[h.c.n(2)], h.trouble(ctx)
}
func (h chaosHook) BeforeCompact(ctx context.Context, _ CompactInfo) (string, error) {
	return "", h.trouble(ctx)
}
func (h chaosHook) AfterCompact(ctx context.Context, _ Compacted) error { return h.trouble(ctx) }
func (h chaosHook) BeforeStop(ctx context.Context, _ Turn, _ string) (string, error) {
	if h.c.n(5) == 0 {
		return "go on", nil
	}
	return "", h.trouble(ctx)
}

// play lets a restless person use the session, then sees that everything comes to its end.
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
	release := func() {}
	if c.n(2) == 0 {
		release = c.s.Hold()
	}
	defer release()
	switch c.n(16) {
	case 0, 1, 2:
		acc, err := c.s.Prompt(Prompt{Content: text("prompt"), Pin: c.n(10) == 0})
		c.expect(acc.MessageID, err)
	case 3:
		acc, err := c.s.Prompt(Prompt{Content: text("later"), Delivery: DeliverQueue})
		c.expect(acc.MessageID, err)
	case 4, 5, 6:
		out, err := c.s.Steer(SteerRequest{Content: text("steer"), OneShot: c.n(4) == 0, IfIdle: []IfIdle{"", IdleQueue, IdleError}[c.n(3)]})
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

// pin pins or unpins a message, whatever it is.
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

// steered expects a steer in the history unless it was a one-shot, which is known by its
// absence from queue and history both.
func (c *chaos) steered(out SteerOutcome) {
	for _, q := range c.s.Queue() {
		if q.MessageID == out.MessageID {
			c.accepted[out.MessageID] = true
		}
	}
}

// drain lets everything that waits run, with a person who answers nothing more.
func (c *chaos) drain() {
	for range 200 {
		_ = c.s.Resume()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Hour)
		_, err := c.s.Wait(ctx, "", "")
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			c.t.Errorf("a turn does not end: %+v", c.s.State())
			return
		}
		if st := c.s.State(); st.Status == SessionIdle && len(st.Queue) == 0 {
			break
		}
		_, _ = c.s.Continue()
	}
}

func (c *chaos) verify() {
	seen := map[string]int{}
	for _, m := range c.s.Messages() {
		seen[m.ID]++
	}
	for id := range seen {
		if seen[id] != 1 {
			c.t.Errorf("message %s stands %d times in the history", id, seen[id])
		}
	}
	waiting := map[string]bool{}
	for _, e := range c.s.notes {
		waiting[e.msg.ID] = true
	}
	for id := range c.accepted {
		if seen[id] == 0 && !waiting[id] {
			c.t.Errorf("message %s was accepted and is lost", id)
		}
	}
	for _, id := range c.s.State().Pinned {
		if !slices.ContainsFunc(c.s.view.msgs, func(m *message.Message) bool { return m.ID == id && slices.Contains(c.s.history, m) }) {
			c.t.Errorf("message %s is pinned, and the model does not see it whole", id)
		}
	}
	if !history.Paired(c.s.view.msgs) {
		c.t.Errorf("what the model sees is not paired at the end:\n%s", texts(c.s.view.msgs))
	}
	if !history.Paired(c.s.Messages()) {
		c.t.Errorf("not paired at the end:\n%s", texts(c.s.Messages()))
	}
	c.check.atEnd()
}

// checker is a Sink and a Store that verifies the invariants as things happen.
type checker struct {
	t    *testing.T
	fail func() bool // the store refuses

	mu     sync.Mutex
	msgs   []*message.Message
	paired int
	stored map[string]bool // call ids whose assistant message is stored
	open   map[string]string
	ended  map[string]bool
	texts  map[string]string
	turn   string
}

func (k *checker) Append(recs ...Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil && k.fail() {
		return errors.New("disk full")
	}
	for _, r := range recs {
		if r.Type != RecordMessage {
			continue
		}
		k.msgs = append(k.msgs, r.Message)
		for _, c := range r.Message.ToolCalls() {
			k.stored[c.ID] = true
		}
	}
	k.pairing()
	return nil
}

// pairing checks what is stored: paired, or open at the very end.
func (k *checker) pairing() {
	n, open := history.PairedPrefix(k.msgs[k.paired:])
	if k.paired+n < len(k.msgs) {
		k.t.Errorf("the stored history is not paired at %d:\n%s", k.paired+n, texts(k.msgs))
		k.paired = len(k.msgs)
		return
	}
	if !open {
		k.paired = len(k.msgs)
	}
}

func (k *checker) toolStarts(callID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.stored[callID] {
		k.t.Errorf("the tool of call %s runs before its message is stored", callID)
	}
}

func (k *checker) Emit(_ string, e Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pairing()
	switch e := e.(type) {
	case TurnStarted:
		if k.turn != "" {
			k.t.Errorf("turn %s starts within %s", e.TurnID, k.turn)
		}
		k.turn = e.TurnID
	case TurnCompleted:
		if len(k.open) > 0 || k.turn != e.Turn.TurnID {
			k.t.Errorf("turn %s completes with open items %v, running %s", e.Turn.TurnID, k.open, k.turn)
		}
		k.turn, k.ended[e.Turn.TurnID] = "", true
	case ItemStarted:
		k.bears(e.TurnID, e)
		k.open[e.Item.ID] = e.TurnID
	case ItemUpdated:
		k.mustBeOpen(e.Item.ID, e)
	case ItemDelta:
		k.mustBeOpen(e.ItemID, e)
		if e.Kind == DeltaText || e.Kind == DeltaReasoning {
			k.texts[e.ItemID] += e.Text
		}
	case ItemCompleted:
		k.mustBeOpen(e.Item.ID, e)
		delete(k.open, e.Item.ID)
		if typ := e.Item.Type; (typ == ItemAssistant || typ == ItemReasoning) && k.texts[e.Item.ID] != e.Item.Text {
			k.t.Errorf("deltas %q make %q", k.texts[e.Item.ID], e.Item.Text)
		}
	case Retrying:
		k.bears(e.TurnID, e)
	}
}

func (k *checker) bears(turnID string, e Event) {
	if turnID != "" && turnID != k.turn {
		k.t.Errorf("%s bears turn %s, running is %q", eventLine(e), turnID, k.turn)
	}
}

func (k *checker) mustBeOpen(id string, e Event) {
	if _, ok := k.open[id]; !ok {
		k.t.Errorf("%s of an item that is not open", eventLine(e))
	}
}

func (k *checker) atEnd() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.turn != "" || len(k.open) > 0 {
		k.t.Errorf("at the end turn %q runs and items %v are open", k.turn, k.open)
	}
}
