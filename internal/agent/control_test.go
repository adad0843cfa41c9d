package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// gateTool is a tool that says when it starts and waits to be let go.
func gateTool(name string) (t *funcTool, started chan string, goOn chan bool) {
	started, goOn = make(chan string), make(chan bool)
	return tool(name, Mutates, func(ctx context.Context, c *Call) (*Result, error) {
		started <- c.ID
		select {
		case <-goOn:
			return &Result{Text: "done"}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}), started, goOn
}

func steps(n int) []step {
	s := make([]step, n)
	for i := range s {
		s[i] = step{text: string(rune('A' + i))}
	}
	return s
}

// Row 1.4 Follow-up: consumed when the turn would stop; each starts a turn of its own.
func TestFollowUpsStartTurnsOfTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		m := script(append([]step{{calls: []message.ToolCall{call("c", "gate", "")}}}, steps(3)...)...)
		r := newRig(t, m, nil, gate)
		defer r.close()
		r.prompt("one")
		<-started
		two, three := r.prompt("two"), r.prompt("three")
		if two.Disposition != DispositionQueued || len(r.s.Queue()) != 2 {
			t.Fatalf("%+v, queue %v", two, r.s.Queue())
		}
		goOn <- true
		turn, err := r.s.Wait(t.Context(), "", three.MessageID)
		if err != nil || turn.ModelCalls != 1 {
			t.Fatal(turn, err)
		}
		eq(t, "history", texts(r.s.Messages()), "user \"one\"\nassistant \"\" gate(c)\ntool \"done\" for c\nassistant \"A\"\nuser \"two\"\nassistant \"B\"\nuser \"three\"\nassistant \"C\"")
	})
}

// Row 1.4 Queue modes: all and one at a time, of steers and follow-ups.
func TestQueueModes(t *testing.T) {
	for _, tc := range []struct {
		steer, follow QueueMode
		want          string
	}{
		{"", "", "s1 s2 A f1 B f2 C"},
		{QueueOneAtATime, QueueAll, "s1 A s2 B f1 f2 C"},
	} {
		bubble(t, func(t *testing.T) {
			gate, started, goOn := gateTool("gate")
			m := script(append([]step{{calls: []message.ToolCall{call("c", "gate", "")}}}, steps(3)...)...)
			r := newRig(t, m, nil, gate)
			r.env.SteeringMode, r.env.FollowUpMode = tc.steer, tc.follow
			defer r.close()
			r.prompt("go")
			<-started
			for _, s := range []string{"s1", "s2"} {
				_, _ = r.s.Steer(SteerRequest{Content: text(s)})
			}
			r.prompt("f1")
			last := r.prompt("f2")
			goOn <- true
			_, _ = r.s.Wait(t.Context(), "", last.MessageID)
			var got []string
			for _, m := range r.s.Messages()[3:] {
				got = append(got, m.TextContent())
			}
			eq(t, "order", strings.Join(got, " "), tc.want)
		})
	}
}

// Row 1.4 Inject w/ disposition, and protocol section 2: the rules of steer.
func TestSteerRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(steps(9)...), nil)
		defer r.close()
		steer := func(req SteerRequest) (string, error) {
			req.Content = text("x")
			out, err := r.s.Steer(req)
			_, _ = r.s.Wait(t.Context(), "", "")
			return out.Outcome, err
		}
		if _, err := steer(SteerRequest{ExpectedTurnID: "other", IfIdle: IdleQueue}); !errors.Is(err, ErrTurnMismatch) {
			t.Error("expectedTurnId wins over ifIdle:", err)
		}
		if _, err := steer(SteerRequest{IfIdle: IdleError}); !errors.Is(err, ErrTurnMismatch) {
			t.Error(err)
		}
		if out, err := steer(SteerRequest{IfIdle: IdleQueue}); out != SteerQueued || err != nil {
			t.Error(out, err)
		}
		if out, err := steer(SteerRequest{}); out != SteerStartedTurn || err != nil {
			t.Error(out, err)
		}
		if _, err := r.s.Steer(SteerRequest{}); !errors.Is(err, ErrEmptyPrompt) {
			t.Error(err)
		}
		if _, err := steer(SteerRequest{Role: message.RoleSystem}); err == nil {
			t.Error("a stored system steer was taken")
		}
	})
}

// Row 1.4 Steer (transient, next call only): sent once, never stored.
func TestOneShotSteer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		m := script(step{calls: []message.ToolCall{call("c", "gate", "")}}, step{calls: []message.ToolCall{call("d", "gate", "")}}, step{text: "end"})
		r := newRig(t, m, nil, gate)
		r.env.System = []SystemBlock{{Text: "base"}}
		defer r.close()
		acc := r.prompt("go")
		<-started
		for _, role := range []message.Role{message.RoleSystem, message.RoleUser} {
			if out, err := r.s.Steer(SteerRequest{Content: text("psst"), OneShot: true, Role: role}); err != nil || out.Outcome != SteerInjected {
				t.Fatal(out, err)
			}
		}
		goOn <- true
		<-started
		goOn <- true
		r.wait(acc.TurnID)
		second, third := m.request(1), m.request(2)
		if n := len(second.System); n != 2 || second.System[1].Text != "psst" {
			t.Errorf("system of the next call: %v", second.System)
		}
		if last := second.Messages[len(second.Messages)-1]; last.TextContent() != "psst" {
			t.Errorf("last message of the next call: %q", last.TextContent())
		}
		if len(third.System) != 1 || strings.Contains(texts(third.Messages), "psst") || strings.Contains(texts(r.s.Messages()), "psst") {
			t.Error("the one-shot was kept")
		}
	})
}

// Protocol section 2: a steer ends the wait for a person; the text is the feedback.
func TestSteerEndsTheWaitForAPerson(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ask := tool("ask", ReadOnly, func(ctx context.Context, c *Call) (*Result, error) {
			ctx, done := c.WaitContext(ctx)
			defer done()
			<-ctx.Done()
			return &Result{Text: context.Cause(ctx).Error(), Denied: true, IsError: true}, nil
		})
		m := script(
			step{calls: []message.ToolCall{call("p", "run", ""), call("a", "ask", ""), call("z", "run", "")}}, step{text: "ok"},
			step{calls: []message.ToolCall{call("q", "ask", "")}}, step{text: "ok"})
		r := newRig(t, m, func(o *Options) { o.Approver = personApprover{} }, tool("run", Mutates, nil), ask)
		defer r.close()
		for _, want := range []string{"p: the user sent a message instead: no, do it so\na: Skipped due to queued user message.\nz: Skipped due to queued user message.\n", ""} {
			acc := r.prompt("go")
			synctest.Wait()
			if st := r.s.State().Status; st != SessionAwaiting {
				t.Fatalf("status %s", st)
			}
			if _, err := r.s.Steer(SteerRequest{Content: text("no, do it so")}); err != nil {
				t.Fatal(err)
			}
			r.wait(acc.TurnID)
			if want == "" {
				want = r.results()
				if !strings.Contains(want, "q: the user sent a message instead: no, do it so") {
					t.Error(want)
				}
			}
			eq(t, "results", r.results(), want)
		}
		if !strings.Contains(r.log.lines(), "updated toolCall run awaitingPermission") || !strings.Contains(r.log.lines(), "completed toolCall run denied") {
			t.Error(r.log.lines())
		}
	})
}

// personApprover asks a person who never answers, except about the tool ask.
type personApprover struct{}

func (personApprover) Approve(ctx context.Context, req ApprovalRequest) (Decision, error) {
	if req.Tool.Name == "ask" {
		return Decision{Allow: true}, nil
	}
	req.Waiting()
	<-ctx.Done()
	return Decision{}, context.Cause(ctx)
}

// Row 1.4 Abort marker, Cancelled tools, Queues vs abort.
func TestAbortKeepsTheQueue(t *testing.T) {
	for _, silent := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			gate, started, _ := gateTool("gate")
			m := script(append([]step{{calls: []message.ToolCall{call("c", "gate", ""), call("d", "gate", "")}}}, steps(3)...)...)
			r := newRig(t, m, nil, gate)
			defer r.close()
			acc := r.prompt("go")
			<-started
			later := r.prompt("later")
			_, _ = r.s.Steer(SteerRequest{Content: text("steered")})
			if _, err := r.s.Abort(AbortRequest{TurnID: "another"}); !errors.Is(err, ErrTurnMismatch) {
				t.Error(err)
			}
			_, _ = r.s.Abort(AbortRequest{Silent: silent})
			turn := r.wait(acc.TurnID)
			if turn.Status != TurnStatusAborted || turn.EndReason != EndAborted || turn.AbortPhase != PhaseToolExecution {
				t.Errorf("turn %+v", turn)
			}
			eq(t, "results", r.results(), "c: Tool execution cancelled.\nd: Tool execution cancelled.")
			if marked := strings.Contains(texts(r.s.Messages()), AbortedToolsText); marked == silent {
				t.Errorf("silent %v, marked %v", silent, marked)
			}
			q := r.s.Queue()
			if len(q) != 2 || q[0].Delivery != DeliverSteer || q[1].Delivery != DeliverFollowUp || r.s.State().Status != SessionIdle {
				t.Fatalf("queue %+v", q)
			}
			r.run("new") // a new prompt runs before the queue, which then goes on
			r.waitFor(later.MessageID)
			var got []string
			for _, m := range r.s.Messages() {
				if m.Role == message.RoleUser {
					got = append(got, m.TextContent())
				}
			}
			eq(t, "order", strings.Join(got, " "), "go new steered later")
		})
	}
}

// Protocol section 2: continue starts the first queued message, or runs on.
func TestContinue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(step{block: true}, step{text: "A"}, step{text: "B"}), nil)
		defer r.close()
		if _, err := r.s.Continue(); !errors.Is(err, ErrNothingToDo) {
			t.Error("empty session:", err)
		}
		acc := r.prompt("go")
		if _, err := r.s.Continue(); !errors.Is(err, ErrNotIdle) {
			t.Error("running:", err)
		}
		r.prompt("queued")
		synctest.Wait()
		_, _ = r.s.Abort(AbortRequest{})
		r.wait(acc.TurnID)
		id, err := r.s.Continue()
		if err != nil {
			t.Fatal(err)
		}
		r.wait(id)
		if _, err := r.s.Continue(); !errors.Is(err, ErrNothingToDo) {
			t.Error("answered:", err)
		}
		eq(t, "history", texts(r.s.Messages()), "user \"go\"\nassistant \"[Request interrupted by user]\"\nuser \"queued\"\nassistant \"A\"")
	})
}

func TestContinueRunsOnFromTheHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "look", "")}}, step{text: "end"}), nil, tool("look", ReadOnly, nil))
		r.env.Limits.MaxModelCalls = 1
		defer r.close()
		if turn := r.run("go"); turn.EndReason != EndMaxModelCalls || turn.Status != TurnStatusCompleted {
			t.Errorf("turn %+v", turn)
		}
		id, err := r.s.Continue()
		if err != nil {
			t.Fatal(err)
		}
		if turn := r.wait(id); turn.EndReason != EndStop {
			t.Errorf("turn %+v", turn)
		}
	})
}

// Run on after an abort: the model is asked to, and what asked it is not stored.
func TestContinueAfterAnAbort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{text: "half", block: true}, step{text: "rest"})
		r := newRig(t, m, nil)
		defer r.close()
		acc := r.prompt("go")
		synctest.Wait()
		_, _ = r.s.Abort(AbortRequest{})
		r.wait(acc.TurnID)
		id, err := r.s.Continue()
		if err != nil {
			t.Fatal(err)
		}
		r.wait(id)
		sent := m.request(1).Messages
		if last := sent[len(sent)-1]; last.Role != message.RoleUser || last.TextContent() != nudgeResume {
			t.Error(texts(sent))
		}
		if strings.Contains(texts(r.s.Messages()), nudgeResume) {
			t.Error("the nudge was stored")
		}
	})
}

// Row 1.4 Pause/Resume: a paused session refuses to start and stops at the next boundary.
func TestPauseAndResume(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "gate", "")}}, step{text: "end"}, step{text: "second"}), nil, gate)
		defer r.close()
		acc := r.prompt("go")
		<-started
		if err := r.s.Pause(); err != nil {
			t.Fatal(err)
		}
		goOn <- true
		if turn := r.wait(acc.TurnID); turn.Status != TurnStatusAborted || turn.ModelCalls != 1 {
			t.Errorf("turn %+v", turn)
		}
		if st := r.s.State().Status; st != SessionPaused {
			t.Error("status", st)
		}
		if acc := r.prompt("more"); acc.Disposition != DispositionQueued {
			t.Errorf("%+v", acc)
		}
		if _, err := r.s.Continue(); !errors.Is(err, ErrPaused) {
			t.Error(err)
		}
		if err := r.s.Resume(); err != nil {
			t.Fatal(err)
		}
		id, err := r.s.Continue() // names the turn that the resume started
		if err != nil {
			t.Fatal(err)
		}
		r.wait(id)
		r.wait("")
		if n := len(r.s.Queue()); n != 0 {
			t.Error("queue", n)
		}
		if strings.Contains(texts(r.s.Messages()), "interrupted") {
			t.Error("a pause left an abort marker")
		}
	})
}

// Row 1.4 queue: list, remove, clear, and its bound.
func TestQueueListRemoveClearBound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(step{block: true}), nil)
		defer r.close()
		r.prompt("go")
		first := r.prompt("first")
		for range DefaultQueueLimit - 1 {
			r.prompt("more")
		}
		if _, err := r.s.Prompt(Prompt{Content: text("too much")}); !errors.Is(err, ErrOverloaded) {
			t.Error(err)
		}
		q, err := r.s.Unqueue(first.MessageID)
		if err != nil || len(q) != DefaultQueueLimit-1 {
			t.Error(len(q), err)
		}
		if _, err := r.s.Unqueue(first.MessageID); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		if _, err := r.s.Wait(t.Context(), "", first.MessageID); !errors.Is(err, ErrNotFound) {
			t.Error("waiting for a removed message:", err)
		}
		if err := r.s.ClearQueue(); err != nil || len(r.s.Queue()) != 0 {
			t.Error(err, r.s.Queue())
		}
	})
}

// Protocol section 2: the same clientMessageId gets the same answer and runs nothing twice,
// also after a restart.
func TestClientMessageID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{text: "A"}, step{block: true})
		r := newRig(t, m, nil)
		p := Prompt{Content: text("go"), ClientMessageID: "c1"}
		a, err := r.s.Prompt(p)
		b, err2 := r.s.Prompt(p)
		if err != nil || err2 != nil || a != b {
			t.Fatal(a, b, err, err2)
		}
		r.wait(a.TurnID)
		q := Prompt{Content: text("later"), ClientMessageID: "c2", Delivery: DeliverQueue}
		c, _ := r.s.Prompt(q)
		r.close()
		if n := len(m.reqs); n != 1 {
			t.Fatalf("%d model calls", n)
		}
		s := NewSession(Options{ID: "s1", Restored: Restored{Messages: r.s.Messages(), Queue: r.s.Queue()}})
		if d, err := s.Prompt(p); err != nil || d != a {
			t.Errorf("after the restart %+v, before %+v: %v", d, a, err)
		}
		if d, err := s.Prompt(q); err != nil || d != c || len(s.Queue()) != 1 {
			t.Errorf("after the restart %+v, before %+v: %v", d, c, err)
		}
		_ = s.Close(t.Context())
	})
}

// Section 0: with Hold, nothing that a request causes is told before its answer.
func TestHoldKeepsEventsBehindTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(step{text: "A"}), nil)
		defer r.close()
		release := r.s.Hold()
		acc := r.prompt("go")
		synctest.Wait() // the turn has run to its end meanwhile
		if n := len(r.log.all()); n != 0 {
			t.Fatalf("%d events before the answer", n)
		}
		waited := make(chan bool)
		go func() { r.wait(acc.TurnID); close(waited) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("wait answered before the turn's end was told")
		default:
		}
		release()
		<-waited
	})
}

// Row 1.4 WaitForIdle: by turn, by message, the running one, with a timeout.
func TestWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(step{block: true}, step{text: "B"}), nil)
		defer r.close()
		if _, err := r.s.Wait(t.Context(), "", ""); !errors.Is(err, ErrNotFound) {
			t.Error("no turn yet:", err)
		}
		acc := r.prompt("go")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		turn, err := r.s.Wait(ctx, "", acc.MessageID)
		if !errors.Is(err, context.DeadlineExceeded) || turn.Status != TurnStatusRunning || turn.TurnID != acc.TurnID {
			t.Error(turn, err)
		}
		_, _ = r.s.Abort(AbortRequest{})
		if turn := r.wait(""); turn.TurnID != acc.TurnID || turn.Status != TurnStatusAborted {
			t.Errorf("%+v", turn)
		}
		if _, err := r.s.Wait(t.Context(), "turn_unknown", ""); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	})
}

// A job's end is told at the next boundary, or wakes an idle session.
func TestNotify(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "gate", ""), call("d", "gate", "")}}, step{text: "A"}, step{text: "B"}), nil, gate)
		defer r.close()
		acc := r.prompt("go")
		<-started
		note := message.NewText(message.RoleUser, "job done")
		note.Source = message.SourceJob
		r.s.Notify(note, true)
		goOn <- true
		<-started // the second call was not skipped
		goOn <- true
		r.wait(acc.TurnID)
		r.s.Notify(message.NewText(message.RoleUser, "quiet"), false)
		if r.s.State().Status != SessionIdle {
			t.Error("a quiet note woke the session")
		}
		r.s.Notify(message.NewText(message.RoleUser, "loud"), true)
		r.wait("")
		eq(t, "history", texts(r.s.Messages()), "user \"go\"\nassistant \"\" gate(c) gate(d)\ntool \"done\" for c\ntool \"done\" for d\nuser \"job done\"\nassistant \"A\"\nuser \"quiet\"\nuser \"loud\"\nassistant \"B\"")
	})
}

// storedBy is what a store would give back if the process ended now.
func storedBy(l *log) (r Restored) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, rec := range l.records {
		switch rec.Type {
		case RecordMessage:
			r.Messages = append(r.Messages, rec.Message)
		case RecordQueue:
			r.Queue = rec.Queue
		case RecordTurnEnd:
			r.Turns = append(r.Turns, *rec.Turn)
		case RecordCompaction:
			r.Commits = append(r.Commits, rec.Commit)
		case RecordPin:
			r.Pins = append(r.Pins, *rec.Pin)
		}
	}
	return r
}

// A pause outlives a restart, and so does what it held back: resumed, the session goes on with it. What was
// parked before the pause stays parked.
func TestPauseSurvivesARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(), nil)
		_, _ = r.s.Prompt(Prompt{Content: text("parked"), Delivery: DeliverQueue})
		_ = r.s.Pause()
		parked := storedBy(r.log)
		held := r.prompt("held")
		withHeld := storedBy(r.log)
		r.close()

		parked.Paused, withHeld.Paused = true, true
		two := newRig(t, script(steps(3)...), func(o *Options) { o.Restored = parked })
		_ = two.s.Resume()
		synctest.Wait()
		if st := two.s.State(); st.Status != SessionIdle || len(st.Queue) != 1 {
			t.Errorf("what was parked: %s, %d queued", st.Status, len(st.Queue))
		}
		two.close()
		three := newRig(t, script(steps(3)...), func(o *Options) { o.Restored = withHeld })
		defer three.close()
		if st := three.s.State().Status; st != SessionPaused {
			t.Error("status", st)
		}
		_ = three.s.Resume()
		three.waitFor(held.MessageID)
		eq(t, "history", texts(three.s.Messages()), "user \"parked\"\nassistant \"A\"\nuser \"held\"\nassistant \"B\"")
	})
}

// A turn that a pause stopped goes on after a restart too.
func TestPausedTurnSurvivesARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "gate", "")}}), nil, gate)
		acc := r.prompt("go")
		<-started
		_ = r.s.Pause()
		goOn <- true
		r.wait(acc.TurnID)
		stored := storedBy(r.log)
		stored.Paused = true
		r.close()
		two := newRig(t, script(steps(1)...), func(o *Options) { o.Restored = stored })
		defer two.close()
		_ = two.s.Resume()
		two.wait("")
		eq(t, "history", texts(two.s.Messages()), "user \"go\"\nassistant \"\" gate(c)\ntool \"done\" for c\nassistant \"A\"")
	})
}

// Nothing queued is lost by a restart, and nothing is delivered twice.
func TestQueueSurvivesARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(step{block: true}), nil)
		r.prompt("go")
		synctest.Wait() // the model is being asked
		r.prompt("later")
		_, _ = r.s.Steer(SteerRequest{Content: text("steer")})
		r.s.Notify(message.NewText(message.RoleUser, "note"), true)
		stored := storedBy(r.log)
		r.close()
		two := newRig(t, script(steps(5)...), func(o *Options) { o.Restored = stored })
		defer two.close()
		q := two.s.Queue()
		if len(q) != 2 {
			t.Fatalf("queue %+v", q)
		}
		q2 := q[1].MessageID
		two.run("new")
		two.waitFor(q2)
		eq(t, "history", texts(two.s.Messages()), "user \"go\"\nuser \"note\"\nuser \"new\"\nassistant \"A\"\nuser \"steer\"\nassistant \"B\"\nuser \"later\"\nassistant \"C\"")
	})
}

// What a sub-agent shows below a call is closed with the call, also when it was left behind.
func TestNestedItemsCloseWithTheirCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan bool)
		sub := tool("agent", Mutates, func(_ context.Context, c *Call) (*Result, error) {
			c.Nested(ItemStarted{Item: Item{ID: "n1", Type: ItemAssistant}})
			c.Nested(ItemDelta{ItemID: "n1", Kind: DeltaText, Text: "half"})
			<-release
			c.Nested(ItemDelta{ItemID: "n1", Kind: DeltaText, Text: "late"})
			c.Spent(message.Usage{Total: 5})
			return &Result{Text: "late"}, nil
		})
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "agent", "")}}), nil, sub)
		defer r.close()
		acc := r.prompt("go")
		synctest.Wait()
		_, _ = r.s.Abort(AbortRequest{})
		r.wait(acc.TurnID)
		close(release)
		r.close()
		checkDeltas(t, r.log.all())
		lines := r.log.lines()
		if !strings.Contains(lines, `completed assistantMessage aborted "half"`) || strings.Contains(lines, "late") {
			t.Error(lines)
		}
	})
}

// A one-shot steer is kept for the next call where this one failed.
func TestOneShotSurvivesAFailedCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{text: "A"}, step{err: failed("auth")}, step{text: "B"}, step{text: "C"})
		r := newRig(t, m, nil)
		defer r.close()
		r.run("one")
		if _, err := r.s.Steer(SteerRequest{Content: text("psst"), OneShot: true}); err != nil {
			t.Fatal(err)
		}
		if turn := r.wait(""); turn.Status != TurnStatusFailed {
			t.Fatalf("%+v", turn)
		}
		r.run("two")
		r.run("three")
		if !strings.Contains(texts(m.request(2).Messages), "psst") || strings.Contains(texts(m.request(3).Messages), "psst") {
			t.Error(texts(m.request(2).Messages), texts(m.request(3).Messages))
		}
	})
}

// Resume goes on with messages that came while an idle session was paused, and with
// nothing that had been waiting before.
func TestResumeStartsWhatThePauseHeldBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(steps(5)...), nil)
		defer r.close()
		_, _ = r.s.Prompt(Prompt{Content: text("parked"), Delivery: DeliverQueue})
		_ = r.s.Pause()
		_ = r.s.Resume()
		synctest.Wait()
		if n := len(r.s.Queue()); n != 1 || r.s.State().Status != SessionIdle {
			t.Errorf("%d queued, %s", n, r.s.State().Status)
		}
		_ = r.s.Pause()
		acc := r.prompt("held")
		_ = r.s.Resume()
		r.waitFor(acc.MessageID)
		eq(t, "history", texts(r.s.Messages()), "user \"parked\"\nassistant \"A\"\nuser \"held\"\nassistant \"B\"")
	})
}

// A wait for a person that begins after the steer ends at once.
func TestSteerBeforeTheWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		started, goOn := make(chan bool), make(chan bool)
		ask := tool("ask", ReadOnly, func(ctx context.Context, c *Call) (*Result, error) {
			started <- true
			<-goOn
			ctx, done := c.WaitContext(ctx)
			defer done()
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "ask", "")}}, step{text: "ok"}), nil, ask)
		defer r.close()
		acc := r.prompt("go")
		<-started
		_, _ = r.s.Steer(SteerRequest{Content: text("so")})
		goOn <- true
		r.wait(acc.TurnID)
		eq(t, "results", r.results(), "c: the user sent a message instead: so")
	})
}

// A process that ended between a message's delivery and the queue's record: once is enough.
func TestDeliveredMessageIsNotQueuedAgain(t *testing.T) {
	m := message.NewText(message.RoleUser, "once")
	m.ID = "m1"
	s := NewSession(Options{ID: "s", Restored: Restored{
		Messages: []*message.Message{m}, Queue: []QueueEntry{{MessageID: "m1", Delivery: DeliverFollowUp, Content: m.Content}},
	}})
	if q := s.Queue(); len(q) != 0 {
		t.Errorf("queue %+v", q)
	}
}
