package agent

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

func TestStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx, begun := NewStarts(1), t.Context(), time.Now()
		leave := s.enter(ctx)
		leave()
		leave() // a second call does not release another turn's slot
		second := s.enter(ctx)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		s.enter(ended)() // an aborted turn does not wait for a slot
		if took := time.Since(begun); took != 0 {
			t.Errorf("free slots took %v", took)
		}
		third := s.enter(ctx)
		if took := time.Since(begun); took != startHold {
			t.Errorf("a slot was held for %v, not %v", took, startHold)
		}
		second()
		third()
		if len(s.places) != 0 {
			t.Error("a slot was not released")
		}
		(*Starts)(nil).enter(ctx)()
	})
}

// Turns that are started at the same time begin one after another. Each one waits at most until the
// turn before it has received its first token.
func TestTurnsStartOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, starts := time.Now(), NewStarts(1)
		var asked []time.Duration
		answer := step{do: func(_ context.Context, _ *Request, on func(Delta)) (*Reply, error) {
			asked = append(asked, time.Since(begun))
			time.Sleep(time.Millisecond)
			on(Delta{Kind: DeltaText, Text: "word "})
			time.Sleep(time.Hour)
			return &Reply{Message: message.NewText(message.RoleAssistant, "word word")}, nil
		}}
		for range 3 {
			r := newRig(t, script(answer), func(o *Options) { o.Starts = starts })
			defer r.close()
			defer r.wait(r.prompt("speak").TurnID)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.Equal(asked, []time.Duration{0, time.Millisecond, 2 * time.Millisecond}) {
			t.Errorf("the model was asked after %v", asked)
		}
	})
}
