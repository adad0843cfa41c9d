package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

const pinnedRule = "Never touch the generated files."

// pinRig is a session whose context window is full after a few turns. sent contains the last
// request.
type pinRig struct {
	*rig
	model *strict
	sent  string
}

func newPinRig(t *testing.T, reducers []string, opts func(*Options)) *pinRig {
	p := &pinRig{model: newStrict(20000)}
	p.model.reply = bigCalls(6)
	p.rig = strictRig(t, p.model, func(o *Options) {
		o.NewID = nil // IDs must stay unique after a restart
		if opts != nil {
			opts(o)
		}
	}, bigTool(8000))
	p.env.Context.Reducers = reducers
	p.env.Hooks = []Hook{sentHook(func(msgs []*message.Message) { p.sent = texts(msgs) })}
	return p
}

func (p *pinRig) turns(n int) {
	for i := range n {
		p.run(fmt.Sprint("turn ", i))
	}
}

// seesRule fails the test unless the last request contained the rule verbatim (or, if want is
// false, did not contain it).
func (p *pinRig) seesRule(want bool) {
	p.t.Helper()
	if got := strings.Count(p.sent, fmt.Sprintf("user %q\n", pinnedRule)); got > 1 ||
		(got == 1) != want {
		p.t.Errorf("the rule was sent %d times, want %v: %.1500s", got, want, p.sent)
	}
}

// Pinned messages can be unpinned, and earlier messages can be pinned. Both survive a restart.
func TestPinAndUnpin(t *testing.T) {
	for _, reducers := range [][]string{{history.StrategySlidingWindow},
		{history.Summary, history.DropTurns}} {
		bubble(t, func(t *testing.T) {
			one := newPinRig(t, reducers, nil)
			one.turns(1)
			id := one.prompt(pinnedRule).MessageID
			one.wait("")
			one.turns(10)
			one.seesRule(false)
			if err := one.s.SetPins([]string{id}, nil); err != nil {
				t.Fatal(err)
			}
			one.turns(1)
			// The pinned message is sent again, although a reduction had removed it.
			one.seesRule(true)
			one.turns(10)
			one.seesRule(true)
			stored := storedBy(one.log)
			one.close()

			two := newPinRig(t, reducers, func(o *Options) { o.Restored = stored })
			if got := two.s.State().Pinned; !slices.Equal(got, []string{id}) {
				t.Errorf("pinned after a restart: %q", got)
			}
			two.turns(10)
			two.seesRule(true)
			if err := two.s.SetPins(nil, []string{id}); err != nil {
				t.Fatal(err)
			}
			two.turns(10)
			two.seesRule(false)
			more := storedBy(two.log)
			stored.Messages, stored.Commits,
				stored.Pins = slices.Concat(stored.Messages, more.Messages),
				slices.Concat(stored.Commits, more.Commits), slices.Concat(stored.Pins, more.Pins)
			two.close()

			three := newPinRig(t, reducers, func(o *Options) { o.Restored = stored })
			defer three.close()
			three.turns(1)
			three.seesRule(false)
			if got := three.s.State().Pinned; len(got) != 0 {
				t.Errorf("still pinned after it was unpinned: %q", got)
			}
		})
	}
}

// A message that was pinned when it was sent can be unpinned.
func TestUnpinWhatWasSentPinned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newPinRig(t, []string{history.StrategySlidingWindow}, nil)
		defer r.close()
		acc, _ := r.s.Prompt(Prompt{Content: text(pinnedRule), Pin: true})
		r.wait("")
		r.turns(10)
		r.seesRule(true)
		if err := r.s.SetPins(nil, []string{acc.MessageID}); err != nil {
			t.Fatal(err)
		}
		r.turns(10)
		r.seesRule(false)
	})
}

// If a message is pinned during a reduction, that reduction already respects the pin.
func TestPinInTheMiddleOfAReduction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newPinRig(t, []string{history.Summary}, nil)
		defer r.close()
		id := r.prompt(pinnedRule).MessageID
		r.wait("")
		summaries := 0
		r.env.Context.Summary = script(step{do: func(context.Context, *Request,
			func(Delta)) (*Reply, error) {
			summaries++
			return &Reply{Message: message.NewText(message.RoleAssistant, "notes")},
				r.s.SetPins([]string{id}, nil)
		}})
		for summaries == 0 {
			r.turns(1)
		}
		r.seesRule(true)
	})
}

// An invalid pin change returns an error and changes nothing.
func TestPinErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &lifeHook{refuse: "secret"}
		r := newRig(t, script(steps(4)...), func(o *Options) { withHooks(o, h) })
		id := r.prompt("one").MessageID
		r.wait("")
		answer := r.s.Messages()[len(r.s.Messages())-1].ID
		withheldID := r.prompt("secret").MessageID
		r.wait("")
		for name, c := range map[string]PinChange{
			"unknown":  {Pin: []string{id, "nope"}},
			"unpinned": {Unpin: []string{"nope"}},
			"answer":   {Pin: []string{answer}},
			"both":     {Pin: []string{id}, Unpin: []string{id}},
			"withheld": {Pin: []string{withheldID}},
		} {
			if err := r.s.SetPins(c.Pin, c.Unpin); !errors.Is(err, ErrNotPinnable) {
				t.Errorf("%s: %v", name, err)
			}
		}
		full := errors.New("the disk is full")
		r.log.fail = func([]Record) error { return full }
		if err := r.s.SetPins([]string{id}, nil); !errors.Is(err, full) {
			t.Error(err)
		}
		r.log.fail = nil
		if got := r.s.State().Pinned; len(got) != 0 {
			t.Errorf("an error pinned %q", got)
		}
		stored := storedBy(r.log)
		r.close()
		if err := r.s.SetPins([]string{id}, nil); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		two := newRig(t, script(steps(1)...), func(o *Options) { o.Restored = stored })
		defer two.close()
		if err := two.s.SetPins([]string{withheldID}, nil); !errors.Is(err, ErrNotPinnable) {
			t.Error("a hook's refusal is forgotten:", err)
		}
	})
}

// A completed item is reported with the pin state that its message had when the item was completed.
func TestPinnedItems(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(steps(2)...), nil)
		defer r.close()
		_, _ = r.s.Prompt(Prompt{Content: text("one"), Pin: true})
		r.wait("")
		r.run("two")
		var got []string
		for _, e := range r.log.all() {
			if c, ok := e.(ItemCompleted); ok && c.Item.Type == ItemUser {
				got = append(got, fmt.Sprint(c.Item.Text, c.Item.Pinned))
			}
		}
		eq(t, "items", strings.Join(got, "\n"), "onetrue\ntwofalse")
	})
}
