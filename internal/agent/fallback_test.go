package agent

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// If a provider is skipped, its fallback answers immediately. The user gets one notice per turn,
// even if the turn has several model calls.
func TestSkippedProviderIsToldOnceInATurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		skipped := &retry.Error{Kind: retry.Overloaded, Message: "skipped", Err: retry.ErrSkipped}
		look := []message.ToolCall{{Name: "look"}}
		first := script()
		for range 9 {
			first.steps = append(first.steps, step{err: skipped})
		}
		second := script(step{calls: look}, step{calls: look}, step{text: "done"},
			step{text: "done"})
		r := newRig(t, first, nil)
		r.env.Models = []Model{first, second}
		defer r.close()
		for turns := 1; turns <= 2; turns++ {
			if turn := r.run("go"); turn.Status != TurnStatusCompleted {
				t.Fatalf("turn %+v", turn)
			}
			reported := 0
			for _, e := range r.log.all() {
				if n, ok := e.(ItemCompleted); ok && n.Item.Type == ItemNotice {
					reported++
				}
			}
			if reported != turns {
				t.Errorf("after %d turns the user was informed %d times", turns, reported)
			}
		}
		if n := len(first.reqs); n != 4 {
			t.Errorf("the first model was asked %d times", n)
		}
	})
}
