package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// plainSettings is an implementation of Settings that has no layers.
type plainSettings struct{ Settings }

func (plainSettings) Session(json.RawMessage) (config.Config, []string, error) {
	return config.Config{}, nil, nil
}

func (plainSettings) Storable(own json.RawMessage) json.RawMessage { return own }

// refusingSettings are settings in which a session cannot set any key.
type refusingSettings struct{ plainSettings }

func (refusingSettings) Session(own json.RawMessage) (config.Config, []string, error) {
	if string(own) == "{}" {
		return config.Config{}, nil, nil
	}
	return config.Config{}, []string{"refused"}, nil
}

func (refusingSettings) Storable(json.RawMessage) json.RawMessage { return json.RawMessage("{}") }

// If an older version stored a key that a session cannot set, the key is reported only when the
// session is first loaded.
func TestAStoredKeyIsRefusedOnce(t *testing.T) {
	dir := t.TempDir()
	id := ""
	for i, settings := range []Settings{plainSettings{}, refusingSettings{}, refusingSettings{}} {
		library := session.Open(dir)
		h := New(Options{
			Library: library, Settings: settings, Workspace: workspace.New(workspace.Options{}),
			Prepare: func(context.Context, SessionInfo) (agent.Options, error) {
				return agent.Options{}, nil
			},
		})
		seen := &recorder{}
		h.Clients().Subscribe(seen)
		var err error
		if id == "" {
			var s *Session
			s, err = h.Create(t.Context(), NewSession{
				Cwd: t.TempDir(), Config: json.RawMessage(`{"provider":{}}`),
			})
			id = s.ID
		} else {
			_, err = h.Get(t.Context(), id)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
		notices := len(seen.all()) // each notice is an item that is started and completed
		if want := map[int]int{1: 2}[i]; notices != want {
			t.Errorf("start %d: %q", i, seen.all())
		}
		if err := errors.Join(h.CloseStores(), library.Close()); err != nil {
			t.Error(err)
		}
	}
}

// recorder is a subscriber that merges deltas whenever the host requests it, but never replaces a
// state.
type recorder struct {
	mu            sync.Mutex
	got           []string
	seqs          []int64
	merges, texts int
}

func (r *recorder) add(seq int64, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seqs = append(r.seqs, seq)
	r.got = append(r.got, fmt.Sprintf("%d %s", seq, what))
}

func (r *recorder) Notify(n Notification) {
	what := fmt.Sprintf("%T", n.Event)
	if n.Replay {
		what += " again"
	}
	r.add(n.Seq, what)
}

func (r *recorder) Delta(_ string, seq int64, d agent.ItemDelta) { r.add(seq, "delta "+d.Text) }

func (r *recorder) Merge(_ string, d agent.ItemDelta) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.merges++
	r.texts += len(d.Text)
	return true
}

func (r *recorder) Replace(string, int64, agent.State) bool { return false }

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// oneSession returns a host with one session.
func oneSession(t *testing.T) (*Host, *Session) {
	t.Helper()
	library := session.Open(t.TempDir())
	t.Cleanup(func() { _ = library.Close() })
	h := New(Options{
		Library: library, Settings: plainSettings{},
		Prepare: func(context.Context, SessionInfo) (agent.Options, error) {
			return agent.Options{}, nil
		},
	})
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	s, err := h.Create(t.Context(), NewSession{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

// aTurn emits the events of a turn that has one message.
func aTurn(h *Host, id string) {
	answer := agent.Item{ID: "i", Type: agent.ItemAssistant}
	h.Emit(id, agent.TurnStarted{TurnID: "t"})
	h.Emit(id, agent.ItemStarted{TurnID: "t", Item: answer})
	for _, text := range []string{"a", "b", "c"} {
		h.Emit(id, agent.ItemDelta{TurnID: "t", ItemID: "i", Kind: agent.DeltaText, Text: text})
	}
	h.ProposalChanged(workspace.ProposalEvent{
		Kind: workspace.Created, Proposal: workspace.Proposal{ID: "p", SessionID: id},
	})
	h.CloseQuestion(id, "q")
	h.Emit(id, agent.ItemCompleted{TurnID: "t", Item: answer})
	h.Emit(id, agent.TurnCompleted{Turn: agent.Turn{TurnID: "t"}})
}

// Two subscribers of a session receive the same events in the same order, with the same numbers and
// without gaps. An event is never merged for only one of them.
func TestTwoSubscribers(t *testing.T) {
	h, s := oneSession(t)
	one, two := &recorder{}, &recorder{}
	h.Clients().Subscribe(one)
	h.Clients().Subscribe(two)
	aTurn(h, s.ID)
	if got := two.all(); !slices.Equal(one.all(), got) || len(got) != 9 || one.merges != 0 {
		t.Errorf("one subscriber got %q\nthe other got %q, %d merges", one.all(), got, one.merges)
	}
	for i, seq := range one.seqs {
		if seq != one.seqs[0]+int64(i) {
			t.Fatalf("the numbers are %v", one.seqs)
		}
	}
	h.Clients().Unsubscribe(two)
	h.Emit(s.ID, agent.TurnStarted{TurnID: "late"})
	h.Emit(s.ID, agent.ItemDelta{TurnID: "late", ItemID: "i", Kind: agent.DeltaText, Text: "d"})
	if one.merges != 1 || len(one.all()) != 10 || len(two.all()) != 9 {
		t.Errorf("after one subscriber left: %q, %d merges; it got %q",
			one.all(), one.merges, two.all())
	}
}

// The notifications that a request causes, and all later ones, are held back until its response is
// sent. This applies to all subscribers.
func TestHoldFor(t *testing.T) {
	h, s := oneSession(t)
	one, two := &recorder{}, &recorder{}
	h.Clients().Subscribe(one)
	h.Clients().Subscribe(two)
	var answered []func()
	ctx := WithAnswer(t.Context(), func(f func()) { answered = append(answered, f) })
	h.HoldFor(ctx, s.ID)
	h.HoldFor(ctx, s.ID)
	h.HoldFor(t.Context(), s.ID)          // no request
	h.HoldFor(ctx, "no such session")     // the session does not exist
	h.HoldFor(WithAnswer(ctx, nil), s.ID) // the caller of the request has disconnected
	aTurn(h, s.ID)
	settled := h.Settled(s.ID)
	if len(answered) != 2 {
		t.Fatalf("%d holds, want 2", len(answered))
	}
	answered[0]()
	if len(one.all())+len(two.all()) != 0 {
		t.Errorf("reported before the response: %q", one.all())
	}
	answered[1]()
	<-settled
	if len(one.all()) != 9 || len(two.all()) != 9 {
		t.Errorf("reported after the response: %q and %q", one.all(), two.all())
	}
}

// A subscriber that joins late receives a replay: first completed items with their numbers, then
// open items with their text, and then proposals. The other subscriber receives no replay.
func TestReplay(t *testing.T) {
	h, s := oneSession(t)
	one, late := &recorder{}, &recorder{}
	h.Clients().Subscribe(one)
	aTurn(h, s.ID)
	open := agent.Item{ID: "o", Type: agent.ItemAssistant}
	h.Emit(s.ID, agent.ItemStarted{TurnID: "t", Item: open})
	before := len(one.all())
	h.Clients().Subscribe(late)
	items, err := s.Store.Items(0)
	if err != nil {
		t.Fatal(err)
	}
	proposal := workspace.Proposal{ID: "p", SessionID: s.ID}
	last := s.Replay(late, items, 0, []workspace.ProposalEvent{
		{Kind: workspace.Created, Proposal: proposal},
	})
	want := []string{
		"5 agent.ItemCompleted again", "7 agent.ItemStarted again",
		"3 workspace.ProposalEvent again",
	}
	if got := late.all(); !slices.Equal(got, want) || last != 7 || len(one.all()) != before {
		t.Errorf("replayed %q up to %d, want %q; the other one got %q", got, last, want, one.all())
	}
}
