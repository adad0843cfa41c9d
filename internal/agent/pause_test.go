package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Continue starts a turn with the first queued message or, if there is none, continues the last
// turn (protocol 3.4).
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
		abortAndContinue(t, r, acc.TurnID)
		if _, err := r.s.Continue(); !errors.Is(err, ErrNothingToDo) {
			t.Error("answered:", err)
		}
		eq(t, "history", texts(r.s.Messages()),
			"user \"go\"\nassistant \"[Request interrupted by user]\"\nuser \"queued\"\nassistant \"A\"")
	})
}

// abortAndContinue aborts the running turn, continues the session, and waits for the end of the
// turn that this starts.
func abortAndContinue(t *testing.T, r *rig, turnID string) {
	t.Helper()
	synctest.Wait()
	_, _ = r.s.Abort(AbortRequest{})
	r.wait(turnID)
	id, err := r.s.Continue()
	if err != nil {
		t.Fatal(err)
	}
	r.wait(id)
}

func TestContinueRunsOnFromTheHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "look", "")}},
			step{text: "end"}), nil, fake("look", tool.ReadOnly, nil))
		r.env.Limits.MaxModelCalls = 1
		defer r.close()
		if turn := r.run("go"); turn.EndReason != EndMaxModelCalls ||
			turn.Status != TurnStatusCompleted {
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

// When a session continues after an abort, the model receives a request to continue. This request
// is not stored.
func TestContinueAfterAnAbort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{text: "half", block: true}, step{text: "rest"})
		r := newRig(t, m, nil)
		defer r.close()
		acc := r.prompt("go")
		abortAndContinue(t, r, acc.TurnID)
		sent := m.request(1).Messages
		if last := sent[len(sent)-1]; last.Role != message.RoleUser ||
			last.TextContent() != nudgeResume {
			t.Error(texts(sent))
		}
		if strings.Contains(texts(r.s.Messages()), nudgeResume) {
			t.Error("the nudge was stored")
		}
	})
}

// A paused session starts no turn. A running turn stops before its next model call.
func TestPauseAndResume(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "gate", "")}},
			step{text: "end"}, step{text: "second"}), nil, gate)
		defer r.close()
		acc := r.prompt("go")
		<-started
		if err := r.s.Pause(); err != nil {
			t.Fatal(err)
		}
		goOn <- true
		synctest.Wait()
		if st := r.s.State(); st.Status != SessionPaused || st.TurnID != acc.TurnID {
			t.Errorf("status %s, turn %q", st.Status, st.TurnID)
		}
		if n := len(r.model.reqs); n != 1 {
			t.Errorf("the paused turn has sent %d requests", n)
		}
		if acc := r.prompt("more"); acc.Disposition != DispositionQueued {
			t.Errorf("%+v", acc)
		}
		if _, err := r.s.Continue(); !errors.Is(err, ErrPaused) {
			t.Error(err)
		}
		if _, err := r.s.Compact(t.Context(), ""); !errors.Is(err, ErrNotIdle) {
			t.Error(err)
		}
		if err := r.s.Resume(); err != nil {
			t.Fatal(err)
		}
		if turn := r.wait(acc.TurnID); turn.Status != TurnStatusCompleted || turn.ModelCalls != 2 {
			t.Errorf("turn %+v", turn)
		}
		r.wait("")
		if n := len(r.s.Queue()); n != 0 {
			t.Error("queue", n)
		}
		if strings.Contains(texts(r.s.Messages()), "interrupted") {
			t.Error("a pause left an abort marker")
		}
	})
}

// A turn that a pause has stopped can be steered, paused again, and aborted.
func TestPausedTurnIsOpen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		c := []message.ToolCall{call("c", "gate", "")}
		r := newRig(t, script(step{calls: c}, step{calls: c}, step{text: "never"}), nil, gate)
		defer r.close()
		acc := r.prompt("go")
		<-started
		_ = r.s.Pause()
		goOn <- true
		synctest.Wait()
		out, err := r.s.Steer(SteerRequest{Content: text("steer"), IfIdle: IdleError})
		if err != nil || out.TurnID != acc.TurnID || out.Outcome != SteerInjected {
			t.Errorf("steer: %+v, %v", out, err)
		}
		_, _ = r.s.Resume(), r.s.Pause()
		synctest.Wait()
		if n := len(r.model.reqs); n != 1 {
			t.Errorf("%d requests after a second pause", n)
		}
		_ = r.s.Resume()
		<-started
		_ = r.s.Pause()
		goOn <- true
		synctest.Wait()
		if st, err := r.s.Abort(AbortRequest{}); st != AbortAborting || err != nil {
			t.Error(st, err)
		}
		if turn := r.wait(acc.TurnID); turn.Status != TurnStatusAborted || turn.ModelCalls != 2 {
			t.Errorf("turn %+v", turn)
		}
		_ = r.s.Resume()
		synctest.Wait()
		if st := r.s.State(); st.Status != SessionIdle {
			t.Errorf("after the abort: %+v", st)
		}
		if !strings.Contains(texts(r.s.Messages()), "user \"steer\"") {
			t.Error("the steer was lost")
		}
	})
}

// A pause that begins while the next model call is being prepared also stops the turn. After the
// pause, the model call uses the current settings.
func TestPauseWhileACallIsPrepared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked, goOn, asks := make(chan bool), make(chan bool), 0
		r := newRig(t, script(steps(1)...), func(o *Options) {
			under := o.Environment
			o.Environment = EnvironmentFunc(func(ctx context.Context, i TurnInfo) (Step, error) {
				if asks++; asks == 1 {
					asked <- true
					<-goOn
				}
				return under.Next(ctx, i)
			})
		})
		defer r.close()
		acc := r.prompt("go")
		<-asked
		_ = r.s.Pause()
		goOn <- true
		synctest.Wait()
		if st := r.s.State(); st.Status != SessionPaused || len(r.model.reqs) > 0 {
			t.Errorf("%s, %d requests", st.Status, len(r.model.reqs))
		}
		_ = r.s.Resume()
		if turn := r.wait(acc.TurnID); turn.Status != TurnStatusCompleted || asks != 2 {
			t.Errorf("turn %+v, %d steps", turn, asks)
		}
	})
}

// storedBy returns the state that a store would restore if the process ended now.
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

// A pause survives a restart. After the restart, Resume processes the queue only if a message
// arrived during the pause. Otherwise, messages that were queued before the pause stay queued.
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
			t.Errorf("messages queued before the pause: %s, %d queued", st.Status, len(st.Queue))
		}
		two.close()
		three := newRig(t, script(steps(3)...), func(o *Options) { o.Restored = withHeld })
		defer three.close()
		if st := three.s.State().Status; st != SessionPaused {
			t.Error("status", st)
		}
		_ = three.s.Resume()
		three.waitFor(held.MessageID)
		eq(t, "history", texts(three.s.Messages()),
			"user \"parked\"\nassistant \"A\"\nuser \"held\"\nassistant \"B\"")
	})
}

// If the session is closed while a turn is paused, the turn can be continued after a restart.
func TestPausedTurnSurvivesARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "gate", "")}}), nil, gate)
		acc := r.prompt("go")
		<-started
		_ = r.s.Pause()
		goOn <- true
		synctest.Wait()
		r.close()
		r.wait(acc.TurnID)
		stored := storedBy(r.log)
		stored.Paused = true
		two := newRig(t, script(steps(1)...), func(o *Options) { o.Restored = stored })
		defer two.close()
		_ = two.s.Resume()
		two.wait("")
		eq(t, "history", texts(two.s.Messages()),
			"user \"go\"\nassistant \"\" gate(c)\ntool \"done\" for c\nassistant \"A\"")
	})
}

// After a restart, no queued message is lost or delivered twice.
func TestQueueSurvivesARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(step{block: true}), nil)
		r.prompt("go")
		synctest.Wait() // the model call is in progress
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
		eq(t, "history", texts(two.s.Messages()),
			"user \"go\"\nuser \"note\"\nuser \"new\"\nassistant \"A\"\nuser \"steer\"\nassistant \"B\"\nuser \"later\"\nassistant \"C\"")
	})
}

// Resume processes the queue only if a message arrived while the idle session was paused.
// Otherwise, messages that were queued before the pause stay queued.
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
		eq(t, "history", texts(r.s.Messages()),
			"user \"parked\"\nassistant \"A\"\nuser \"held\"\nassistant \"B\"")
	})
}

// If a turn or a compaction completes while the session is paused, resuming starts the next queued
// prompt, even after a restart.
func TestResumeGoesOnBehindAPausedEnd(t *testing.T) {
	for _, compacts := range []bool{false, true} {
		for _, restarts := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				begun, goOn := make(chan bool), make(chan bool)
				gate := func() { begun <- true; <-goOn }
				gated := step{do: func(context.Context, *Request, func(Delta)) (*Reply, error) {
					gate()
					return &Reply{Message: message.NewText(message.RoleAssistant, "B")}, nil
				}}
				if compacts {
					gated = step{text: "B"}
				}
				r := newRig(t, script(step{text: "A"}, gated, step{text: "C"}), func(o *Options) {
					if compacts {
						withHooks(o, compactGate{gate})
					}
				})
				r.run("go")
				done := make(chan bool)
				go func() {
					defer close(done)
					if compacts {
						_, _ = r.s.Compact(context.Background(), "")
						return
					}
					r.run("on")
				}()
				<-begun
				r.prompt("later")
				_ = r.s.Pause()
				goOn <- true
				<-done
				if restarts {
					r.close()
					kept := storedBy(r.log)
					kept.Paused = true
					r = newRig(t, script(step{text: "C"}), func(o *Options) { o.Restored = kept })
				}
				defer r.close()
				_ = r.s.Resume()
				synctest.Wait()
				if q := r.s.Queue(); len(q) > 0 {
					t.Errorf("compacts %v, restarts %v: %d messages are still waiting",
						compacts, restarts,
						len(q))
				}
			})
		}
	}
}

// compactGate is a hook that waits before a compaction.
type compactGate struct{ wait func() }

func (compactGate) HookName() string { return "gate" }
func (g compactGate) BeforeCompact(context.Context, CompactInfo) (string, error) {
	g.wait()
	return "", nil
}

// If the session is resumed while it is busy compacting or storing the end of a turn, it still
// continues with the messages that the pause delayed.
func TestResumeIsNotLostWhereTheSessionIsBusy(t *testing.T) {
	for _, compacts := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			busy, free := make(chan bool), make(chan bool)
			hold := func() { busy <- true; <-free }
			begun, goOn := make(chan bool), make(chan bool)
			gated := step{do: func(context.Context, *Request, func(Delta)) (*Reply, error) {
				begun <- true
				<-goOn
				return &Reply{Message: message.NewText(message.RoleAssistant, "B")}, nil
			}}
			r := newRig(t, script(gated, step{text: "C"}), func(o *Options) {
				if compacts {
					withHooks(o, compactGate{hold})
				} else {
					o.Store = &heldStore{log: o.Store.(*log), wait: hold}
				}
			})
			defer r.close()
			acc := r.prompt("go")
			<-begun
			if !compacts {
				r.prompt("later")
				_ = r.s.Pause()
			}
			goOn <- true
			done := make(chan bool)
			go func() {
				defer close(done)
				r.wait(acc.TurnID)
				if compacts {
					_ = r.s.Pause()
					r.prompt("later")
					_, _ = r.s.Compact(context.Background(), "")
				}
			}()
			<-busy
			if err := r.s.Resume(); err != nil {
				t.Error(err)
			}
			free <- true
			<-done
			synctest.Wait()
			if st := r.s.State(); st.Status != SessionIdle || len(st.Queue) > 0 {
				t.Errorf("compacts %v: %s, %d queued", compacts, st.Status, len(st.Queue))
			}
		})
	}
}

// heldStore is a store that delays storing the end of a turn, but only once.
type heldStore struct {
	*log
	once sync.Once
	wait func()
}

func (h *heldStore) Append(recs ...Record) error {
	if slices.ContainsFunc(recs, func(r Record) bool { return r.Type == RecordTurnEnd }) {
		h.once.Do(h.wait)
	}
	return h.log.Append(recs...)
}

// If the user removes a message that the pause had delayed, Resume does not start a turn with it. A
// turn that was aborted before the pause stays aborted.
func TestResumeForgetsWhatWasTakenOut(t *testing.T) {
	for _, clears := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, script(step{block: true}, step{text: "never"}), nil)
			defer r.close()
			acc := r.prompt("go")
			synctest.Wait()
			_, _ = r.s.Abort(AbortRequest{})
			r.wait(acc.TurnID)
			_ = r.s.Pause()
			held := r.prompt("held")
			if clears {
				_ = r.s.ClearQueue()
			} else if _, err := r.s.Unqueue(held.MessageID); err != nil {
				t.Error(err)
			}
			_ = r.s.Resume()
			synctest.Wait()
			eq(t, "history", texts(r.s.Messages()),
				"user \"go\"\nassistant \"[Request interrupted by user]\"")
		})
	}
}
