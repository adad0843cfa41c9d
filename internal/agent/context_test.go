package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// strict is a provider that enforces its context window, strict pairing of calls and results, and a
// user message at the beginning. Its token counts differ from the estimate by a factor. Its
// summaries are short.
type strict struct {
	window   int
	reported int // the window that Info reports; 0 if unknown
	factor   float64
	reply    func(n int) step
	n        int
	most     int
	refused  int
	names    bool // whether its errors state the window
	summary  func() (*Reply, error)
}

func (m *strict) Info() ModelInfo { return ModelInfo{ID: "strict", ContextWindow: m.reported} }

func (m *strict) count(req *Request) int {
	n := history.Total(req.Messages)
	for _, b := range req.System {
		n += len(b.Text) / 4
	}
	for _, t := range req.Tools {
		n += (len(t.Description) + len(t.Schema) + len(t.Name)) / 4
	}
	return int(float64(n) * m.factor)
}

func (m *strict) Generate(ctx context.Context, req *Request, on func(Delta)) (*Reply, error) {
	if !history.Paired(req.Messages) || len(req.Messages) == 0 ||
		req.Messages[0].Role != message.RoleUser {
		return nil, &retry.Error{
			Kind:    retry.Client,
			Message: "bad history:\n" + texts(req.Messages),
		}
	}
	used := m.count(req)
	if used > m.window {
		m.refused++
		e := &retry.Error{
			Kind:    retry.ContextOverflow,
			Message: fmt.Sprintf("%d tokens are more than %d", used, m.window),
		}
		if m.names {
			e.Window = m.window
		}
		return nil, e
	}
	if len(req.System) == 1 && strings.Contains(req.System[0].Text, "You write notes that") {
		if m.summary != nil {
			return m.summary()
		}
		return &Reply{Message: message.NewText(message.RoleAssistant, "the notes")}, nil
	}
	m.most = max(m.most, used)
	st := step{text: "ok"}
	if m.reply != nil {
		st = m.reply(m.n)
	}
	m.n++
	st.usage = message.Usage{Input: used, Output: 10, Total: used + 10}
	sub := script(st)
	return sub.Generate(ctx, &Request{}, on)
}

func newStrict(window int) *strict { return &strict{window: window, reported: window, factor: 1} }

func strictRig(t *testing.T, m *strict, opts func(*Options), tools ...tool.Tool) *rig {
	r := newRig(t, script(), opts, tools...)
	r.env.Models = []Model{m}
	return r
}

// bigTool returns a tool whose result has size bytes.
func bigTool(size int) *funcTool {
	return fake("big", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
		return &tool.Result{Text: strings.Repeat("line of text...\n", size/16)}, nil
	})
}

func bigCalls(turns int) func(n int) step {
	return func(n int) step {
		if n%turns == turns-1 {
			return step{text: "done"}
		}
		return step{calls: []message.ToolCall{call("", "big", "")}}
	}
}

// The session uses its own token estimate to keep requests within the window, so the provider never
// rejects one. Each compaction is committed once. After a restart, the model would receive the same
// messages.
func TestLongSessionFits(t *testing.T) {
	for _, list := range [][]string{nil, {history.StrategySlidingWindow}, {"importance"},
		{history.StrategyHybrid}} {
		bubble(t, func(t *testing.T) {
			m := newStrict(20000)
			m.reply = bigCalls(6)
			r := strictRig(t, m, nil, bigTool(8000))
			r.env.Context.Reducers = list
			defer r.close()
			for i := range 20 {
				if turn := r.run(fmt.Sprint("turn ", i)); turn.Status != TurnStatusCompleted {
					t.Fatalf("turn %d: %+v %v", i, turn, turn.Error)
				}
			}
			var commits []*Commit
			var stored []*message.Message
			for _, rec := range r.log.records {
				switch rec.Type {
				case RecordCompaction:
					commits = append(commits, rec.Commit)
				case RecordMessage:
					stored = append(stored, rec.Message)
				}
			}
			if m.refused > 0 || len(commits) == 0 || len(commits) > 40 || m.most > 17000 {
				t.Errorf(
					"%v: refused %d, %d commits, most %d tokens",
					list,
					m.refused,
					len(commits),
					m.most,
				)
			}
			if len(stored) != len(r.s.Messages()) {
				t.Errorf("%d stored, %d in the history", len(stored), len(r.s.Messages()))
			}
			again := NewSession(
				Options{ID: "s", Restored: Restored{Messages: stored, Commits: commits}},
			)
			eq(
				t,
				"the view after a restart",
				texts(again.conv.view.msgs),
				texts(r.s.conv.view.msgs),
			)
		})
	}
}

// If the estimate is too low, the provider rejects the request. The session then makes one forced
// reduction and one retry, and corrects its estimate.
func TestOverflowRecovery(t *testing.T) {
	for _, reported := range []int{0, 30000} {
		bubble(t, func(t *testing.T) {
			m := newStrict(20000)
			m.reported, m.reply = reported, bigCalls(5)
			r := strictRig(t, m, nil, bigTool(8000))
			defer r.close()
			for i := range 12 {
				if turn := r.run(fmt.Sprint("turn ", i)); turn.Status != TurnStatusCompleted {
					t.Fatalf("reported %d: turn %d: %+v %v", reported, i, turn, turn.Error)
				}
			}
			if m.refused == 0 || m.refused > 8 {
				t.Errorf("reported %d: refused %d times", reported, m.refused)
			}
		})
	}
}

// If the configured window is far too large, the session learns the actual window from the error,
// or finds it by halving.
func TestWindowFarTooLarge(t *testing.T) {
	for _, c := range []struct {
		names         bool
		first, others int // maximum rejections in the first turn and in all twelve turns
	}{{true, 1, 2}, {false, MaxRefusals, 3 * MaxRefusals}} {
		bubble(t, func(t *testing.T) {
			m := newStrict(4096)
			m.reported, m.names = 131072, c.names
			r := strictRig(t, m, nil)
			defer r.close()
			m.window = 131072
			for i := range 10 {
				r.run(fmt.Sprint(i, strings.Repeat(" a few words", 600)))
			}
			m.window = 4096
			for i := range 12 {
				if turn := r.run(fmt.Sprint("turn ", i,
					strings.Repeat(" more words", 200))); turn.Status != TurnStatusCompleted {
					t.Fatalf("named %v: turn %d: %+v %v", c.names, i, turn, turn.Error)
				}
				if i == 0 && (m.refused == 0 || m.refused > c.first) {
					t.Errorf("named %v: the first call was refused %d times", c.names, m.refused)
				}
			}
			if m.refused > c.others {
				t.Errorf("named %v: refused %d times", c.names, m.refused)
			}
			if c.names && r.s.conv.view.window != 4096 {
				t.Errorf("the session shows a window of %d", r.s.conv.view.window)
			}
			turn := r.run(strings.Repeat("word ", 20000))
			if turn.Status != TurnStatusFailed || turn.Error.Kind != string(retry.ContextOverflow) {
				t.Errorf("named %v: a message larger than the window: %+v", c.names, turn)
			}
			if turn := r.run("short"); turn.Status != TurnStatusCompleted {
				t.Errorf("named %v: after it: %+v %v", c.names, turn, turn.Error)
			}
		})
	}
}

// If a message is larger than the context window, its turn fails, but no data is lost and the
// session stays usable.
func TestContextBadInput(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newStrict(10000)
		r := strictRig(t, m, nil)
		defer r.close()
		huge := strings.Repeat("word ", 20000)
		turn := r.run(huge)
		if turn.Status != TurnStatusFailed || turn.Error.Kind != string(retry.ContextOverflow) ||
			m.refused > 0 {
			t.Errorf("one message larger than the window: %+v %v", turn, turn.Error)
		}
		if turn := r.run("shorter"); turn.Status != TurnStatusCompleted {
			t.Errorf("after it: %+v %v", turn, turn.Error)
		}
		if r.s.Messages()[0].TextContent() != huge {
			t.Error("the stored message was shortened")
		}
		r.env.System = []SystemBlock{{Text: huge}}
		turn = r.run("again")
		if turn.Status != TurnStatusFailed ||
			!strings.Contains(turn.Error.Message, "system prompt") {
			t.Errorf("a window smaller than the system prompt: %+v %v", turn, turn.Error)
		}
		r.env.System = nil
		if turn := r.run("and again"); turn.Status != TurnStatusCompleted {
			t.Errorf("after it: %+v %v", turn, turn.Error)
		}
	})
}

func TestSummaryThatFailsInASession(t *testing.T) {
	for name, f := range map[string]func() (*Reply, error){
		"fails": func() (*Reply, error) { return nil, failed(retry.Client) },
		"is cut": func() (*Reply, error) {
			return &Reply{Message: &message.Message{Stop: message.StopLength}}, nil
		},
		"is none": func() (*Reply, error) { return &Reply{Message: &message.Message{}}, nil },
		"panics":  func() (*Reply, error) { panic("summary") },
	} {
		bubble(t, func(t *testing.T) {
			m := newStrict(20000)
			m.reply, m.summary = bigCalls(30), f
			r := strictRig(
				t,
				m,
				nil,
				bigTool(1500),
			) // the results are too small for masking, so the turn is summarized
			defer r.close()
			for i := range 8 {
				if turn := r.run(fmt.Sprint("turn ", i)); turn.Status != TurnStatusCompleted {
					t.Fatalf("%s: turn %d: %+v %v", name, i, turn, turn.Error)
				}
			}
			if m.refused > 0 {
				t.Errorf("%s: refused %d", name, m.refused)
			}
		})
	}
}

// agent/compact works in an idle session and accepts instructions. Prompts wait until the
// compaction is done.
func TestCompact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newStrict(100000)
		m.reply = bigCalls(5)
		gate := make(chan bool)
		asked := atomic.Int32{}
		m.summary = func() (*Reply, error) {
			asked.Add(1)
			<-gate
			return &Reply{Message: message.NewText(message.RoleAssistant, "the notes")}, nil
		}
		r := strictRig(t, m, nil, bigTool(2000))
		defer r.close()
		for i := range 6 {
			r.run(fmt.Sprint("turn ", i))
		}
		done := make(chan Compaction)
		go func() {
			c, err := r.s.Compact(t.Context(), "keep the numbers")
			if err != nil {
				t.Error(err)
			}
			done <- c
		}()
		synctest.Wait()
		if _, err := r.s.Compact(t.Context(), ""); !errors.Is(err, ErrNotIdle) {
			t.Error(err)
		}
		if _, err := r.s.Continue(); !errors.Is(err, ErrNotIdle) {
			t.Error(err)
		}
		acc := r.prompt("meanwhile")
		if acc.Disposition != DispositionQueued {
			t.Errorf("%+v", acc)
		}
		gate <- true
		c := <-done
		if c.TokensAfter >= c.TokensBefore/2 || !strings.Contains(c.Strategy, history.Summary) {
			t.Errorf("%+v", c)
		}
		r.waitFor(acc.MessageID)
		if !strings.Contains(r.log.lines(), "compacted ") {
			t.Error("no event")
		}
	})
}

func TestCompactWithNothingToDo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := strictRig(t, newStrict(100000), nil)
		defer r.close()
		c, err := r.s.Compact(t.Context(), "")
		if err != nil || c.Strategy != history.StrategyNone {
			t.Error(c, err)
		}
	})
}

// TestSoak checks that a session keeps all of its 100,000 messages, uses less than 100 MiB, and
// satisfies every invariant. By default, it sends only a twentieth of the messages. With
// AGENT_LSP_SOAK=1 (make soak), it sends all of them.
func TestSoak(t *testing.T) {
	turns, rounds := 20, 125
	if on, _ := strconv.ParseBool(os.Getenv("AGENT_LSP_SOAK")); on {
		turns, rounds = 200, 250
	}
	bubble(t, func(t *testing.T) {
		m := newStrict(60000)
		m.reply = bigCalls(rounds)
		small := fake(
			"big",
			tool.ReadOnly,
			func(_ context.Context, c *tool.Call) (*tool.Result, error) {
				return &tool.Result{Text: "result of " + c.ID}, nil
			},
		)
		check := &checker{
			t:      t,
			open:   map[string]string{},
			ended:  map[string]bool{},
			texts:  map[string]string{},
			stored: map[string]bool{},
		}
		reg, err := tool.NewRegistry(small)
		if err != nil {
			t.Fatal(err)
		}
		env := Step{Models: []Model{m}, Tools: reg, Limits: Limits{MaxModelCalls: -1}}
		s := NewSession(
			Options{
				ID:   "s",
				Sink: check,
				Environment: EnvironmentFunc(
					func(context.Context, TurnInfo) (Step, error) { return env, nil },
				),
				Bug: t.Errorf,
			},
		)
		for i := range turns {
			acc, err := s.Prompt(Prompt{Content: text(fmt.Sprint("turn ", i))})
			if err != nil {
				t.Fatal(err)
			}
			if turn, err := s.Wait(t.Context(), acc.TurnID, ""); err != nil ||
				turn.Status != TurnStatusCompleted {
				t.Fatalf("turn %d: %+v %v %v", i, turn, turn.Error, err)
			}
			check.texts = map[string]string{}
		}
		runtime.GC()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		msgs := s.Messages()
		t.Logf(
			"%d messages, heap %d MiB, %d model calls, most %d tokens, refused %d",
			len(msgs),
			mem.HeapAlloc>>20,
			m.n,
			m.most,
			m.refused,
		)
		// The messages of a turn are the prompt, each round's call and result, and the answer.
		if want := turns * rounds * 2; len(msgs) != want {
			t.Errorf("%d messages, want %d", len(msgs), want)
		}
		if !history.Paired(msgs) || m.refused > 0 {
			t.Errorf("paired %v, refused %d", history.Paired(msgs), m.refused)
		}
		if mem.HeapAlloc > 100<<20 {
			t.Errorf("heap %d MiB", mem.HeapAlloc>>20)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkPrepareCall(b *testing.B) {
	m := newStrict(1 << 20)
	var old []*message.Message
	for i := range 1000 {
		role := message.RoleUser
		if i%2 == 1 {
			role = message.RoleAssistant
		}
		old = append(old, message.NewText(role, strings.Repeat("some text of the past ", 50)))
	}
	s := NewSession(Options{ID: "s", Restored: Restored{Messages: old}})
	t := &turn{step: &Step{Models: []Model{m}}, ctx: context.Background()}
	for range b.N {
		if err := s.fit(t); err != nil {
			b.Fatal(err)
		}
		if _, err := s.request(t, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func manyLines() string {
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, "line %d of many\n", i+1)
	}
	return b.String()
}

func passageOf(phrase string) string {
	at := strings.Index(manyLines(), phrase)
	return manyLines()[at-recallContext/3 : at-recallContext/3+recallContext]
}

// TestRecall checks that the recall tool finds messages by text and by number, and returns the
// matching passage.
func TestRecall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := strictRig(t, newStrict(100000), nil)
		defer r.close()
		r.run("The password of the test database is Hunter2, Ünïcode")
		r.run("something else")
		r.run(manyLines())
		rec := RecallTool()
		run := func(args string) string {
			res, err := runTool(t.Context(), rec, &tool.Call{Args: []byte(args),
				History: r.s.Messages})
			if err != nil {
				return err.Error()
			}
			return res.Text
		}
		for args, want := range map[string]string{
			`{"query":"database HUNTER2"}`: "[1] user: The password of the test database is Hunter2, Ünïcode",
			`{"number":3}`:                 "something else",
			`{"query":"line 297 of many"}`: "[5] user: …" + passageOf("line 297 of many") + "…",
			`{"query":"elephant"}`:         "No message of this conversation contains all of these words.",
			`{"number":99}`:                "there is no message 99; the history has 6",
			`{}`:                           "give a query or a number",
		} {
			eq(t, args, run(args), want)
		}
	})
}

// If 100 sessions stream at the same time, they are served fairly and use less than 1 MiB each.
func TestHundredSessionsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const sessions, pieces = 100, 200
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var rigs []*rig
		var got []*int
		gate := make(chan bool)
		for range sessions {
			m := script(
				step{do: func(ctx context.Context, _ *Request, on func(Delta)) (*Reply, error) {
					var b strings.Builder
					for range pieces {
						on(Delta{Kind: DeltaText, Text: "a word "})
						b.WriteString("a word ")
					}
					<-gate
					m := message.NewText(message.RoleAssistant, b.String())
					m.Stop = message.StopEnd
					return &Reply{Message: m}, ctx.Err()
				}},
			)
			streamed := 0
			sink := SinkFunc(func(_ string, e Event) {
				if d, ok := e.(ItemDelta); ok {
					streamed += len(d.Text)
				}
			})
			r := newRig(t, m, func(o *Options) { o.Sink, o.Store = sink, nil })
			r.prompt("go")
			rigs, got = append(rigs, r), append(got, &streamed)
		}
		synctest.Wait() // every session has streamed its text, and none waited for another
		for _, n := range got {
			if *n != pieces*7 {
				t.Fatalf("%d bytes streamed", *n)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if per := (int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+
			before.StackInuse)) / sessions; per > 1<<20 {
			t.Errorf("%d bytes a session", per)
		} else {
			t.Logf("%d KiB a session", per>>10)
		}
		close(gate)
		for _, r := range rigs {
			r.wait("")
			r.close()
		}
	})
}
