package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// gateTool returns a tool that signals when it starts and then waits for a signal to continue.
func gateTool(name string) (t *funcTool, started chan string, goOn chan bool) {
	started, goOn = make(chan string), make(chan bool)
	return fake(name, tool.Mutates, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		started <- c.ID
		select {
		case <-goOn:
			return &tool.Result{Text: "done"}, nil
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

// Follow-ups wait until the running turn has ended. Each one then starts its own turn.
func TestFollowUpsStartTurnsOfTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		m := script(append([]step{{calls: []message.ToolCall{call("c", "gate", "")}}},
			steps(3)...)...)
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
		eq(t, "history", texts(r.s.Messages()),
			"user \"one\"\nassistant \"\" gate(c)\ntool \"done\" for c\nassistant \"A\"\nuser \"two\"\nassistant \"B\"\nuser \"three\"\nassistant \"C\"")
	})
}

// A prompt with a known clientMessageId returns the earlier result and runs nothing again, even
// after a restart (protocol 3.1).
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
		s := NewSession(Options{ID: "s1",
			Restored: Restored{Messages: r.s.Messages(), Queue: r.s.Queue()}})
		if d, err := s.Prompt(p); err != nil || d != a {
			t.Errorf("after the restart %+v, before %+v: %v", d, a, err)
		}
		if d, err := s.Prompt(q); err != nil || d != c || len(s.Queue()) != 1 {
			t.Errorf("after the restart %+v, before %+v: %v", d, c, err)
		}
		_ = s.Close(t.Context())
	})
}

// Wait can wait for a turn by ID, for a message, or for the running turn, with or without a
// timeout.
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
		if !errors.Is(err, context.DeadlineExceeded) || turn.Status != TurnStatusRunning ||
			turn.TurnID != acc.TurnID {
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

// If a turn ends without processing a steer, the steer is queued. A caller that waits for the steer
// then waits until the turn that processes it has ended.
func TestWaitForASteerThatIsQueued(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, _ := gateTool("gate")
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "gate", "")}},
			step{text: "A"}), nil, gate)
		defer r.close()
		first := r.prompt("go")
		<-started
		steer, err := r.s.Steer(SteerRequest{Content: text("steered")})
		if err != nil {
			t.Fatal(err)
		}
		early := make(chan Turn, 1)
		go func() {
			turn, _ := r.s.Wait(t.Context(), "", steer.MessageID)
			early <- turn
		}()
		synctest.Wait()
		_, _ = r.s.Abort(AbortRequest{})
		r.wait(first.TurnID)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if turn, err := r.s.Wait(ctx, "", steer.MessageID); !errors.Is(err,
			context.DeadlineExceeded) || turn.TurnID != "" {
			t.Errorf("while the steer is queued: %+v, %v", turn, err)
		}
		next, err := r.s.Continue()
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range []Turn{<-early, r.wait("")} {
			if turn.TurnID != next || turn.Status != TurnStatusCompleted {
				t.Errorf("the steer went to turn %s, the wait gave %+v", next, turn)
			}
		}
		if turn, err := r.s.Wait(t.Context(), "", steer.MessageID); err != nil ||
			turn.TurnID != next {
			t.Errorf("afterwards: %+v, %v", turn, err)
		}
	})
}

// A message sent with Notify is added before the next model call. In an idle session, it starts a
// turn only if the caller requests that.
func TestNotify(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "gate", ""),
			call("d", "gate", "")}}, step{text: "A"}, step{text: "B"}), nil, gate)
		defer r.close()
		acc := r.prompt("go")
		<-started
		note := message.NewText(message.RoleUser, "job done")
		note.Source = message.SourceJob
		r.s.Notify(note, true)
		goOn <- true
		<-started // the second call must not be skipped
		goOn <- true
		r.wait(acc.TurnID)
		r.s.Notify(message.NewText(message.RoleUser, "quiet"), false)
		if r.s.State().Status != SessionIdle {
			t.Error("a silent notification woke the session")
		}
		r.s.Notify(message.NewText(message.RoleUser, "loud"), true)
		r.wait("")
		eq(t, "history", texts(r.s.Messages()),
			"user \"go\"\nassistant \"\" gate(c) gate(d)\ntool \"done\" for c\ntool \"done\" for d\nuser \"job done\"\nassistant \"A\"\nuser \"quiet\"\nuser \"loud\"\nassistant \"B\"")
	})
}

// When a call ends, the items that its sub-agent has shown are completed, even if the call was
// abandoned.
func TestNestedItemsCloseWithTheirCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan bool)
		sub := fake("agent", tool.Mutates, func(_ context.Context, c *tool.Call) (*tool.Result,
			error) {
			c.Nested(ItemStarted{Item: Item{ID: "n1", Type: ItemAssistant}})
			c.Nested(ItemDelta{ItemID: "n1", Kind: DeltaText, Text: "half"})
			<-release
			c.Nested(ItemDelta{ItemID: "n1", Kind: DeltaText, Text: "late"})
			c.Spent(message.Usage{Total: 5})
			return &tool.Result{Text: "late"}, nil
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
		if !strings.Contains(lines, `completed assistantMessage aborted "half"`) ||
			strings.Contains(lines, "late") {
			t.Error(lines)
		}
	})
}
