package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// TestQueueModes checks the modes "all" and "one at a time" for steers and follow-ups.
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
			m := script(append([]step{{calls: []message.ToolCall{call("c", "gate", "")}}},
				steps(3)...)...)
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

// If an abort arrives while the end of a turn is being stored, no other turn starts.
func TestAbortWhileTheEndIsStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begun, goOn := make(chan bool), make(chan bool)
		first := step{do: func(context.Context, *Request, func(Delta)) (*Reply, error) {
			begun <- true
			<-goOn
			return &Reply{Message: message.NewText(message.RoleAssistant, "A")}, nil
		}}
		r := newRig(t, script(first, step{text: "B"}), nil)
		defer r.close()
		state := ""
		r.log.fail = func(recs []Record) error {
			if state == "" && slices.ContainsFunc(recs,
				func(rec Record) bool { return rec.Type == RecordTurnEnd }) {
				state, _ = r.s.Abort(AbortRequest{})
			}
			return nil
		}
		acc := r.prompt("go")
		<-begun
		r.prompt("later")
		goOn <- true
		r.wait(acc.TurnID)
		synctest.Wait()
		if n := len(r.s.Queue()); state != AbortAborting || n != 1 {
			t.Errorf("the abort returned %q, and %d messages are waiting", state, n)
		}
	})
}

// An abort marks the turn as aborted and cancels its calls, but keeps queued messages.
func TestAbortKeepsTheQueue(t *testing.T) {
	for _, silent := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			gate, started, _ := gateTool("gate")
			m := script(append([]step{{calls: []message.ToolCall{call("c", "gate", ""),
				call("d", "gate", "")}}}, steps(3)...)...)
			r := newRig(t, m, nil, gate)
			defer r.close()
			acc := r.prompt("go")
			<-started
			later := r.prompt("later")
			_, _ = r.s.Steer(SteerRequest{Content: text("steered")})
			if _, err := r.s.Abort(AbortRequest{TurnID: "another"}); !errors.Is(err,
				ErrTurnMismatch) {
				t.Error(err)
			}
			_, _ = r.s.Abort(AbortRequest{Silent: silent})
			turn := r.wait(acc.TurnID)
			if turn.Status != TurnStatusAborted || turn.EndReason != EndAborted ||
				turn.AbortPhase != PhaseToolExecution {
				t.Errorf("turn %+v", turn)
			}
			eq(t, "results", r.results(), "c: Tool execution cancelled.\nd: Tool execution cancelled.")
			if marked := strings.Contains(texts(r.s.Messages()),
				AbortedToolsText); marked == silent {
				t.Errorf("silent %v, marked %v", silent, marked)
			}
			q := r.s.Queue()
			if len(q) != 2 || q[0].Delivery != DeliverSteer || q[1].Delivery != DeliverFollowUp ||
				r.s.State().Status != SessionIdle {
				t.Fatalf("queue %+v", q)
			}
			r.run("new") // the new prompt runs first, and then the queue continues
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

// The queue can be listed and cleared, and single messages can be removed. Its size is limited.
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

// If the process ends after a message was delivered but before its removal from the queue was
// stored, the message is not delivered again.
func TestDeliveredMessageIsNotQueuedAgain(t *testing.T) {
	m := message.NewText(message.RoleUser, "once")
	m.ID = "m1"
	s := NewSession(Options{ID: "s", Restored: Restored{
		Messages: []*message.Message{m},
		Queue:    []QueueEntry{{MessageID: "m1", Delivery: DeliverFollowUp, Content: m.Content}},
	}})
	if q := s.Queue(); len(q) != 0 {
		t.Errorf("queue %+v", q)
	}
}
