package agent

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// optionsRig returns a rig and a list. Before each model call, the model in the turn's options is
// appended to the list, or "-" if the turn has no options.
func optionsRig(t *testing.T, tools []tool.Tool, steps ...step) (*rig, *[]string) {
	t.Helper()
	var seen []string
	var r *rig
	r = newRig(t, script(steps...), func(o *Options) {
		o.Environment = EnvironmentFunc(func(_ context.Context, turn TurnInfo) (Step, error) {
			model := "-"
			if turn.Options != nil {
				model = turn.Options.Model
			}
			seen = append(seen, model)
			return r.env, nil
		})
	}, tools...)
	return r, &seen
}

func promptWith(t *testing.T, r *rig, text_, model string) Accepted {
	t.Helper()
	acc, err := r.s.Prompt(Prompt{Content: text(text_), Options: &TurnOptions{Model: model}})
	if err != nil {
		t.Fatal(err)
	}
	return acc
}

// TestTurnOptions checks that a message's options apply to every model call of the turn it starts,
// that queued messages keep their options, and that messages with different options do not share a
// turn.
func TestTurnOptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		calls := step{calls: []message.ToolCall{call("c", "gate", "")}}
		r, seen := optionsRig(t, []tool.Tool{gate}, append([]step{calls}, steps(4)...)...)
		r.env.FollowUpMode = QueueAll
		defer r.close()
		promptWith(t, r, "first", "a")
		<-started
		promptWith(t, r, "second", "b")
		promptWith(t, r, "third", "b")
		last := r.prompt("fourth")
		goOn <- true
		r.waitFor(last.MessageID)
		eq(t, "options", strings.Join(*seen, " "), "a a b -")
	})
}

// TestSteerOptions checks that the options of a steer take effect only if the steer starts a turn.
func TestSteerOptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, seen := optionsRig(t, nil, steps(3)...)
		defer r.close()
		for _, oneShot := range []bool{false, true} {
			out, err := r.s.Steer(SteerRequest{
				Content: text("go"), OneShot: oneShot, Options: &TurnOptions{Model: "a"},
			})
			if err != nil {
				t.Fatal(err)
			}
			r.wait(out.TurnID)
		}
		out, err := r.s.Steer(SteerRequest{
			Content: text("later"), IfIdle: IdleQueue, Options: &TurnOptions{Model: "b"},
		})
		if err != nil || out.Outcome != SteerQueued {
			t.Fatal(out, err)
		}
		turn, err := r.s.Continue()
		if err != nil {
			t.Fatal(err)
		}
		r.wait(turn)
		eq(t, "options", strings.Join(*seen, " "), "a a -")
	})
}

// TestOptionsOverPauseAndRestart checks that a turn that was stopped by a pause continues with its
// options, and that queued messages keep their options after a restart.
func TestOptionsOverPauseAndRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		calls := step{calls: []message.ToolCall{call("c", "gate", "")}}
		r, seen := optionsRig(t, []tool.Tool{gate}, append([]step{calls}, steps(1)...)...)
		acc := promptWith(t, r, "first", "a")
		<-started
		_ = r.s.Pause()
		goOn <- true
		synctest.Wait()
		_ = r.s.Resume()
		r.wait(acc.TurnID)
		eq(t, "options", strings.Join(*seen, " "), "a a")
		r.close()
	})
	bubble(t, func(t *testing.T) {
		r, _ := optionsRig(t, nil)
		_ = r.s.Pause()
		promptWith(t, r, "later", "q")
		queue := r.s.Queue()
		r.close()
		again := NewSession(Options{ID: "s1", Restored: Restored{Queue: queue}})
		eq(t, "options", optionsOf(again.inbox.queue[0].msg).Model, "q")
		_ = again.Close(t.Context())

		m := message.NewText(message.RoleUser, "go")
		m.TurnID = "t1"
		keepOptions(m, &TurnOptions{Model: "held"})
		held := NewSession(Options{ID: "s2", Restored: Restored{
			Messages: []*message.Message{m}, Paused: true,
			Turns: []Turn{{TurnID: "t1", Status: TurnStatusAborted, EndReason: EndAborted}},
		}})
		eq(t, "held options", held.pause.unsaid.Model, "held")
		_ = held.Close(t.Context())
	})
}
