package agent

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// The loop alternates between model and tools until the model makes no more calls. The events are
// in the right order.
func TestLoopModelToolsModel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(
			step{reasoning: "hm", text: "I look.",
				calls: []message.ToolCall{call("c1", "look", `{}`)}},
			step{chunks: []string{"It ", "works."}},
		)
		r := newRig(t, m, nil, fake("look", tool.ReadOnly, nil))
		defer r.close()
		turn := r.run("check it")
		eq(t, "events", r.log.lines(), `
state running queue=0
turn started
started userMessage "check it"
completed userMessage "check it"
started reasoning
delta reasoning "hm"
started assistantMessage
delta text "I look."
completed reasoning "hm"
completed assistantMessage "I look."
state running queue=0
started toolCall look pending
updated toolCall look running
completed toolCall look completed "look ran"
started assistantMessage
delta text "It "
delta text "works."
completed assistantMessage "It works."
state running queue=0
turn completed stop
state idle queue=0`)
		if turn.ModelCalls != 2 || turn.ToolCalls != 1 || turn.ToolErrors != 0 {
			t.Errorf("summary %+v", turn)
		}
		eq(t, "history", texts(r.s.Messages()), `
user "check it"
assistant "I look." look(c1)
tool "look ran" for c1
assistant "It works."`)
	})
}

// A steer skips the calls that have not started.
func TestSteerSkipsWhatHasNotStarted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		started, goOn := make(chan bool), make(chan bool)
		slow := fake("slow", tool.Mutates, func(context.Context, *tool.Call) (*tool.Result, error) {
			started <- true
			<-goOn
			return &tool.Result{Text: "done"}, nil
		})
		m := script(
			step{calls: []message.ToolCall{call("a", "slow", `{}`), call("b", "slow", `{}`)}},
			step{text: "As you say."},
		)
		r := newRig(t, m, nil, slow)
		defer r.close()
		acc := r.prompt("go")
		<-started
		out, err := r.s.Steer(SteerRequest{Content: text("stop that"), ExpectedTurnID: acc.TurnID})
		if err != nil || out.Outcome != SteerInjected {
			t.Fatal(out, err)
		}
		goOn <- true
		r.wait(acc.TurnID)
		eq(t, "history", texts(r.s.Messages()), `
user "go"
assistant "" slow(a) slow(b)
tool "done" for a
tool "Skipped due to queued user message." for b
user "stop that"
assistant "As you say."`)
	})
}

// TestAbortInference aborts a turn while the model is answering.
func TestAbortInference(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{text: "Let me", block: true})
		r := newRig(t, m, nil)
		defer r.close()
		acc := r.prompt("go")
		synctest.Wait()
		state, err := r.s.Abort(AbortRequest{TurnID: acc.TurnID})
		if err != nil || state != AbortAborting {
			t.Fatal(state, err)
		}
		turn := r.wait(acc.TurnID)
		if turn.Status != TurnStatusAborted || turn.AbortPhase != PhaseInference {
			t.Errorf("turn %+v", turn)
		}
		eq(t, "history", texts(r.s.Messages()),
			"user \"go\"\nassistant \"Let me\\n\\n[Request interrupted by user]\"")
		if state, _ := r.s.Abort(AbortRequest{TurnID: acc.TurnID}); state != AbortIdle {
			t.Error("a second abort answered", state)
		}
	})
}
