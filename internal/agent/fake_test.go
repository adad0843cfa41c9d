package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// step is one reply of a scripted model.
type step struct {
	text, reasoning string
	chunks          []string // if set, streamed in these pieces instead of text
	calls           []message.ToolCall
	stop            message.StopReason
	err             error
	usage           message.Usage
	block           bool // waits until the context ends
	do              func(ctx context.Context, req *Request, on func(Delta)) (*Reply, error)
}

// scripted is a Model that plays steps and records the requests it receives.
type scripted struct {
	mu    sync.Mutex
	steps []step
	reqs  []*Request
	info  ModelInfo
}

func script(steps ...step) *scripted { return &scripted{steps: steps} }

func (m *scripted) Info() ModelInfo { return m.info }

func (m *scripted) next(req *Request) step {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reqs = append(m.reqs, req)
	if len(m.steps) == 0 {
		return step{text: "script ran out"}
	}
	st := m.steps[0]
	m.steps = m.steps[1:]
	return st
}

func (m *scripted) request(i int) *Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reqs[i]
}

func (m *scripted) Generate(ctx context.Context, req *Request, on func(Delta)) (*Reply, error) {
	if !history.Paired(req.Messages) {
		panic("the request is not paired")
	}
	st := m.next(req)
	if st.do != nil {
		return st.do(ctx, req, on)
	}
	chunks := st.chunks
	if chunks == nil && st.text != "" {
		chunks = []string{st.text}
	}
	if st.reasoning != "" {
		on(Delta{Kind: DeltaReasoning, Text: st.reasoning})
	}
	for _, c := range chunks {
		on(Delta{Kind: DeltaText, Text: c})
	}
	if st.block {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if st.err != nil {
		return nil, st.err
	}
	msg := message.NewText(message.RoleAssistant, strings.Join(chunks, ""))
	if len(chunks) == 0 {
		msg.Content = nil
	}
	if st.reasoning != "" {
		msg.Content = append([]message.Block{{Type: message.Reasoning, Text: st.reasoning}},
			msg.Content...)
	}
	msg.Stop = st.stop
	if msg.Stop == "" {
		msg.Stop = message.StopEnd
	}
	for _, c := range st.calls {
		c := c
		msg.Content = append(msg.Content, message.Block{Type: message.ToolUse, Call: &c})
		msg.Stop = message.StopToolUse
	}
	u := st.usage
	msg.Usage = &u
	return &Reply{Message: msg}, nil
}

func call(id, name, args string) message.ToolCall {
	return message.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

// funcTool is a tool whose calls run the function run. If run is nil, a call returns "NAME ran".
type funcTool struct {
	spec tool.Spec
	says tool.Prepared // result of Prepare, except for Run
	run  func(ctx context.Context, c *tool.Call) (*tool.Result, error)
}

func (f *funcTool) Spec() tool.Spec { return f.spec }
func (f *funcTool) Prepare(context.Context, *tool.Call) (*tool.Prepared, error) {
	p := f.says
	if p.Run = f.run; p.Run == nil {
		p.Run = func(context.Context, *tool.Call) (*tool.Result, error) {
			return &tool.Result{Text: f.spec.Name + " ran"}, nil
		}
	}
	return &p, nil
}

// asked makes the tool request permission for its calls.
func (f *funcTool) asked() *funcTool {
	return f.saying(tool.Prepared{Subject: &tool.Subject{Kind: tool.SubjectCommand}})
}

// runTool prepares a tool call and runs it.
func runTool(ctx context.Context, t tool.Tool, c *tool.Call) (*tool.Result, error) {
	p, err := t.Prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, c)
}

// saying sets the result of Prepare to p. The field Run of p is ignored.
func (f *funcTool) saying(p tool.Prepared) *funcTool {
	f.says = p
	return f
}

func fake(name string, effect tool.Effect,
	run func(ctx context.Context, c *tool.Call) (*tool.Result, error)) *funcTool {
	return &funcTool{spec: tool.Spec{Name: name, Effect: effect,
		Schema: json.RawMessage(`{"type":"object"}`)}, run: run}
}

// log is a Sink and a Store that records everything.
type log struct {
	mu      sync.Mutex
	events  []Event
	records []Record
	onEvent func(Event)
	fail    func([]Record) error
}

func (l *log) Emit(_ string, e Event) {
	l.mu.Lock()
	l.events = append(l.events, e)
	f := l.onEvent
	l.mu.Unlock()
	if f != nil {
		f(e)
	}
}

func (l *log) Append(recs ...Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		if err := l.fail(recs); err != nil {
			return err
		}
	}
	l.records = append(l.records, recs...)
	return nil
}

func (l *log) all() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Event(nil), l.events...)
}

// lines formats the events, one per line. A StateChanged event shows only the status and the length
// of the queue.
func (l *log) lines() string {
	var b strings.Builder
	for _, e := range l.all() {
		fmt.Fprintln(&b, eventLine(e))
	}
	return b.String()
}

func eventLine(e Event) string {
	switch e := e.(type) {
	case TurnStarted:
		return "turn started"
	case TurnCompleted:
		return fmt.Sprintf("turn %s %s", e.Turn.Status, e.Turn.EndReason)
	case ItemStarted:
		return "started " + itemLine(e.Item)
	case ItemUpdated:
		return "updated " + itemLine(e.Item)
	case ItemCompleted:
		return "completed " + itemLine(e.Item)
	case ItemDelta:
		return fmt.Sprintf("delta %s %q", e.Kind, e.Text)
	case Retrying:
		return fmt.Sprintf("retrying %d/%d %s in %s", e.Attempt, e.MaxRetries, e.Kind, e.Delay)
	case Compacted:
		return "compacted " + e.Strategy
	case StateChanged:
		return fmt.Sprintf("state %s queue=%d", e.State.Status, len(e.State.Queue))
	}
	return fmt.Sprintf("%T", e)
}

func itemLine(it Item) string {
	s := string(it.Type)
	if it.Call != nil {
		s += " " + it.Call.Name
	}
	if it.Status != "" {
		s += " " + string(it.Status)
	}
	if it.Call != nil && it.Call.Result != "" {
		s += fmt.Sprintf(" %q", it.Call.Result)
	}
	if it.Text != "" {
		s += fmt.Sprintf(" %q", it.Text)
	}
	return s
}

// withHooks adds hooks to those in the session's environment.
func withHooks(o *Options, hooks ...Hook) {
	under := o.Environment
	o.Environment = EnvironmentFunc(func(ctx context.Context, turn TurnInfo) (Step, error) {
		step, err := under.Next(ctx, turn)
		step.Hooks = slices.Concat(step.Hooks, hooks)
		return step, err
	})
}

// rig is a session with the other objects that a test needs.
type rig struct {
	t     *testing.T
	s     *Session
	log   *log
	model *scripted
	env   Step
}

// newRig creates a session with a scripted model and the given tools. A test may change rig.env
// before the first prompt.
func newRig(t *testing.T, m *scripted, opts func(*Options), tools ...tool.Tool) *rig {
	t.Helper()
	reg, err := tool.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, log: &log{}, model: m,
		env: Step{Models: []Model{m}, Tools: reg, Repair: repair.Default()}}
	n := 0
	var mu sync.Mutex
	o := Options{
		ID: "s1", Cwd: "/w", Sink: r.log, Store: r.log,
		Environment: EnvironmentFunc(func(context.Context, TurnInfo) (Step, error) {
			return r.env,
				nil
		}),
		Bug: func(f string, args ...any) { t.Errorf("bug: "+f, args...) },
		NewID: func(p string) string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprint(p, n)
		},
	}
	if opts != nil {
		opts(&o)
	}
	if o.Restored.Messages != nil {
		n = 1000 // IDs must stay unique after a restart
	}
	r.s = NewSession(o)
	return r
}

func (r *rig) close() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := r.s.Close(ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
	if !history.Paired(r.s.Messages()) {
		r.t.Errorf("the history is not paired at the end: %s", texts(r.s.Messages()))
	}
}

func text(s string) []message.Block { return []message.Block{{Type: message.Text, Text: s}} }

func (r *rig) prompt(s string) Accepted {
	r.t.Helper()
	acc, err := r.s.Prompt(Prompt{Content: text(s)})
	if err != nil {
		r.t.Fatalf("prompt %q: %v", s, err)
	}
	return acc
}

func (r *rig) wait(turnID string) Turn {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	turn, err := r.s.Wait(ctx, turnID, "")
	if err != nil {
		r.t.Fatalf("wait %s: %v", turnID, err)
	}
	return turn
}

// waitFor waits for the end of the turn that receives the message.
func (r *rig) waitFor(messageID string) {
	r.t.Helper()
	if _, err := r.s.Wait(r.t.Context(), "", messageID); err != nil {
		r.t.Fatalf("wait for %s: %v", messageID, err)
	}
}

// run sends a prompt and waits for the end of its turn.
func (r *rig) run(s string) Turn {
	r.t.Helper()
	return r.wait(r.prompt(s).TurnID)
}

// texts formats a history: the role, text and calls of each message.
func texts(msgs []*message.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		fmt.Fprintf(&b, "%s %q", m.Role, m.TextContent())
		for _, c := range m.ToolCalls() {
			fmt.Fprintf(&b, " %s(%s)", c.Name, c.ID)
		}
		if m.CallID != "" {
			fmt.Fprintf(&b, " for %s", m.CallID)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// bubble runs a test under synctest.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func eq(t *testing.T, what, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("%s:\n got:\n%s\nwant:\n%s", what, got, want)
	}
}
