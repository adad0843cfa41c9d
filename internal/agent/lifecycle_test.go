package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// lifeHook implements every session lifecycle hook. It logs calls, adds messages, and can refuse
// prompts and compactions.
type lifeHook struct {
	mu     sync.Mutex
	seen   []string
	refuse string // a word that a prompt must not contain
	deny   error  // the error returned for compactions
}

func (h *lifeHook) HookName() string { return "life" }

func (h *lifeHook) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, fmt.Sprintf(format, args...))
}

func (h *lifeHook) log() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.seen, "\n")
}

func (h *lifeHook) SessionStarts(ctx context.Context, in SessionInfo) (string, error) {
	h.note("start %s in %s below %q, stored %v, %v", in.ID, in.Cwd, in.Parent, in.Restored,
		SessionOf(ctx) == in)
	return "The branch is main.", nil
}

func (h *lifeHook) SessionEnds(_ context.Context, in SessionInfo) error {
	h.note("end %s", in.ID)
	return nil
}

func (h *lifeHook) BeforePrompt(_ context.Context, _ string, m *message.Message) (string, error) {
	h.note("prompt %s", m.TextContent())
	if h.refuse != "" && strings.Contains(m.TextContent(), h.refuse) {
		return "", errors.New("not that")
	}
	return "Seen: " + m.TextContent(), nil
}

func (h *lifeHook) BeforeCompact(_ context.Context, c CompactInfo) (string, error) {
	h.note("compact must=%v", c.Must)
	return "keep the names", h.deny
}

func (h *lifeHook) AfterCompact(_ context.Context, c Compacted) error {
	h.note("compacted %s %v", c.Strategy, c.TokensAfter < c.TokensBefore)
	return nil
}

// Hooks run once at the start and once at the end of a session, and once for each prompt and steer.
func TestLifecycleHooks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &lifeHook{}
		gate, started, goOn := gateTool("gate")
		m := script(step{calls: []message.ToolCall{call("c", "gate", "")}}, step{text: "A"},
			step{text: "B"})
		r := newRig(t, m, func(o *Options) { withHooks(o, h); o.Parent = "p1" }, gate)
		acc := r.prompt("one")
		<-started
		_, _ = r.s.Steer(SteerRequest{Content: text("turn left")})
		goOn <- true
		r.wait(acc.TurnID)
		r.run("two")
		r.close()
		eq(
			t,
			"calls",
			h.log(),
			"start s1 in /w below \"p1\", stored false, true\nprompt one\nprompt turn left\nprompt two\nend s1",
		)
		eq(t, "what the model saw", texts(m.request(2).Messages), `user "one"
user "The branch is main."
user "Seen: one"
assistant "" gate(c)
tool "done" for c
user "turn left"
user "Seen: turn left"
assistant "A"
user "two"
user "Seen: two"`)
		if strings.Contains(r.log.lines(), "Seen:") {
			t.Error("the user is shown text that only the model should receive")
		}
	})
}

// In a session without a turn, the end hook is not called.
func TestNoEndWithoutAStart(t *testing.T) {
	h := &lifeHook{}
	r := newRig(t, script(), func(o *Options) { withHooks(o, h) })
	r.close()
	eq(t, "calls", h.log(), "")
}

// If a hook refuses a prompt, the turn ends and the prompt never reaches the model, even after a
// restart. The session can continue.
func TestRefusedPromptIsWithheld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &lifeHook{refuse: "secret"}
		m := script(steps(3)...)
		r := newRig(t, m, func(o *Options) { withHooks(o, h) })
		turn := r.run("my secret is 42")
		if turn.Status != TurnStatusFailed || !strings.Contains(turn.Error.Message, "not that") ||
			turn.ModelCalls != 0 {
			t.Errorf("%+v %v", turn, turn.Error)
		}
		r.run("hello")
		stored := storedBy(r.log)
		r.close()
		two := newRig(t, m, func(o *Options) { o.Restored = stored })
		defer two.close()
		two.run("again")
		for _, req := range m.reqs {
			if strings.Contains(texts(req.Messages), "secret") {
				t.Error(texts(req.Messages))
			}
		}
		if !strings.Contains(texts(two.s.Messages()), "secret") {
			t.Error("the stored history lost a message")
		}
	})
}

// Compaction hooks can add instructions. They can refuse a compaction while the window has free
// room, but not when the window is full.
func TestCompactionHooks(t *testing.T) {
	play := func(t *testing.T, deny error) (*lifeHook, *strict, *rig) {
		h := &lifeHook{deny: deny}
		m := newStrict(20000)
		m.reply = bigCalls(6)
		r := strictRig(t, m, func(o *Options) { withHooks(o, h) }, bigTool(4000))
		r.env.Context.Reducers = []string{history.DropTurns}
		for i := range 6 {
			if turn := r.run(fmt.Sprint("turn ", i)); turn.Status != TurnStatusCompleted {
				t.Fatalf("%+v %v", turn, turn.Error)
			}
		}
		return h, m, r
	}
	bubble(t, func(t *testing.T) {
		h, m, r := play(t, nil)
		defer r.close()
		if got := h.log(); !strings.Contains(got,
			"compact must=false\ncompacted drop_turns true") || m.refused > 0 {
			t.Error(got)
		}
		r.env.Context.Reducers = nil
		m.summary = func() (*Reply, error) {
			return &Reply{Message: message.NewText(message.RoleAssistant, "notes")}, nil
		}
		if _, err := r.s.Compact(t.Context(), "and the dates"); err != nil {
			t.Error(err)
		}
	})
	bubble(t, func(t *testing.T) {
		h, m, r := play(t, errors.New("not now"))
		defer r.close()
		if got := h.log(); !strings.Contains(got, "compact must=false") ||
			!strings.Contains(got, "compact must=true\ncompacted") || m.refused > 0 {
			t.Error(got)
		}
		if _, err := r.s.Compact(t.Context(), ""); err == nil ||
			!strings.Contains(err.Error(), "not now") {
			t.Error(err)
		}
	})
}

// A hook's text is added to the prompt for the summary, together with the user's instructions.
func TestCompactionInstructions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := ""
		notes := script(step{do: func(_ context.Context, req *Request, _ func(Delta)) (*Reply,
			error) {
			asked = texts(req.Messages)
			return &Reply{Message: message.NewText(message.RoleAssistant, "notes")}, nil
		}})
		r := newRig(t, script(steps(5)...), func(o *Options) { withHooks(o, &lifeHook{}) })
		r.env.Context.Summary = notes
		defer r.close()
		for range 4 {
			r.run(strings.Repeat("word ", 500))
		}
		if _, err := r.s.Compact(t.Context(), "and the dates"); err != nil {
			t.Error(err)
		}
		if !strings.Contains(asked, "and the dates") || !strings.Contains(asked, "keep the names") {
			t.Error(asked)
		}
	})
}

// A turn ends after a tool call if the tool's result or the settings request it. The turn continues
// if the tool returns an error, a hook vetoes the end, or a steer is waiting.
func TestStopAfterTool(t *testing.T) {
	for _, tc := range []struct {
		name  string
		tool  *funcTool
		ends  bool // whether the settings end the turn
		hooks []Hook
		calls int
	}{
		{"neither", fake("done", tool.Mutates, nil), false, nil, 2},
		{"the result", fake("done", tool.Mutates,
			func(context.Context, *tool.Call) (*tool.Result, error) {
				return &tool.Result{Text: "x", EndTurn: true}, nil
			}), false, nil, 1},
		{"the settings", fake("done", tool.Mutates, nil), true, nil, 1},
		{"an error", fake("done", tool.Mutates,
			func(context.Context, *tool.Call) (*tool.Result, error) {
				return nil,
					errors.New("no")
			}), true, nil, 2},
		{"a veto", fake("done", tool.Mutates, nil), true, []Hook{&goodHook{vetoes: 1}}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := script(step{calls: []message.ToolCall{call("1", "done", ""),
					call("2", "done", "")}}, step{text: "end"}, step{text: "next"})
				r := newRig(t, m, func(o *Options) { withHooks(o, tc.hooks...) }, tc.tool)
				if tc.ends {
					r.env.EndsTurn = func(name string) bool { return name == "done" }
				}
				defer r.close()
				turn := r.run("go")
				if turn.ModelCalls != tc.calls || turn.EndReason != EndStop || turn.ToolCalls != 2 {
					t.Errorf("%+v", turn)
				}
				if turn := r.run("on"); turn.Status != TurnStatusCompleted {
					t.Errorf("after it: %+v", turn)
				}
			})
		})
	}
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		r := newRig(t, script(step{calls: []message.ToolCall{call("1", "gate", "")}},
			step{text: "heard"}), nil, gate)
		r.env.EndsTurn = func(string) bool { return true }
		defer r.close()
		acc := r.prompt("go")
		<-started
		_, _ = r.s.Steer(SteerRequest{Content: text("wait")})
		goOn <- true
		if turn := r.wait(acc.TurnID); turn.ModelCalls != 2 {
			t.Errorf("a steer was not answered: %+v", turn)
		}
		synctest.Wait()
	})
}

// Messages that the user pins stay unchanged in every reduction, and remain pinned after a restart.
func TestPinnedMessagesStay(t *testing.T) {
	const rule = "Never touch the generated files."
	for _, strategy := range []string{history.StrategyAdaptive, history.StrategySlidingWindow,
		history.StrategyHybrid, "importance"} {
		bubble(t, func(t *testing.T) {
			last := ""
			m := newStrict(20000)
			m.reply = bigCalls(6)
			r := strictRig(t, m, nil, bigTool(8000))
			r.env.Context.Reducers = []string{strategy}
			r.env.Hooks = []Hook{sentHook(func(msgs []*message.Message) { last = texts(msgs) })}
			if _, err := r.s.Prompt(Prompt{Content: text(rule), Pin: true,
				ClientMessageID: "c1"}); err != nil {
				t.Fatal(err)
			}
			r.wait("")
			for i := range 10 {
				r.run(fmt.Sprint("turn ", i))
			}
			_, _ = r.s.Steer(SteerRequest{Content: text("And be brief."), Pin: true,
				IfIdle: IdleQueue})
			stored := storedBy(r.log)
			r.close()
			two := strictRig(t, m, func(o *Options) { o.Restored = stored }, bigTool(8000))
			two.env = r.env
			defer two.close()
			if _, err := two.s.Continue(); err != nil {
				t.Fatal(err)
			}
			two.wait("")
			for i := range 10 {
				two.run(fmt.Sprint("turn ", i))
			}
			if !strings.Contains(last, "user \""+rule+"\"") ||
				!strings.Contains(last, "user \"And be brief.\"") {
				t.Errorf("%s: %.2000s", strategy, last)
			}
			if !strings.Contains(two.log.lines(), "compacted") {
				t.Error("nothing was reduced")
			}
		})
	}
}

// sentHook is a hook that passes the messages of each request to a function.
type sentHook func([]*message.Message)

func (sentHook) HookName() string { return "sent" }

func (f sentHook) BeforeModel(_ context.Context, req *Request) error {
	f(req.Messages)
	return nil
}

// slowHook is a hook whose check of the first prompt does not return until the turn ends.
type slowHook struct {
	lifeHook
	entered chan struct{}
	once    sync.Once
}

func (h *slowHook) BeforePrompt(ctx context.Context, turn string,
	m *message.Message) (string, error) {
	var err error
	h.once.Do(func() {
		close(h.entered)
		<-ctx.Done()
		err = context.Cause(ctx)
	})
	if err != nil {
		return "", err
	}
	return h.lifeHook.BeforePrompt(ctx, turn, m)
}

// If the user aborts while a hook checks a prompt, the prompt is not refused. It stays in the
// history, and the hooks check it again in the next turn.
func TestAbortWhileAHookLooksAtThePrompt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &slowHook{entered: make(chan struct{})}
		m := script(steps(2)...)
		r := newRig(t, m, func(o *Options) { withHooks(o, h) })
		defer r.close()
		acc := r.prompt("one")
		<-h.entered
		_, _ = r.s.Abort(AbortRequest{})
		if turn := r.wait(acc.TurnID); turn.Status != TurnStatusAborted {
			t.Errorf("%+v", turn)
		}
		r.run("two")
		if got := texts(m.request(0).Messages); !strings.HasPrefix(got, "user \"one\"\n") ||
			!strings.Contains(got, "Seen: one") || !strings.Contains(got, "Seen: two") {
			t.Error(got)
		}
		h.refuse = "three"
		if turn := r.run("three"); turn.Status != TurnStatusFailed {
			t.Errorf("a refusal after it: %+v", turn)
		}
	})
}
