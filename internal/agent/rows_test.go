package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
)

// Each message records its author, its turn and its time.
func TestRolesAndAuthors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "x", "")}},
			step{text: "end"}), nil, fake("x", tool.ReadOnly, nil))
		defer r.close()
		turn := r.run("go")
		var got []string
		for _, m := range r.s.Messages() {
			got = append(got, string(m.Role)+" by "+m.Author)
			if m.TurnID != turn.TurnID || m.Time.IsZero() || m.ID == "" {
				t.Errorf("%+v", m)
			}
		}
		eq(t, "authors", strings.Join(got, ", "),
			"user by user, assistant by agent, tool by tools, assistant by agent")
	})
}

// If the finish reason is unknown, the reply is treated as incomplete. The model is asked to
// continue up to three times, and then the reply is accepted.
func TestUnknownFinishReason(t *testing.T) {
	bubble(t, func(t *testing.T) {
		odd := step{text: "part ", stop: message.StopUnknown}
		m := script(odd, odd, odd, odd, step{text: "never asked"})
		r := newRig(t, m, nil)
		defer r.close()
		turn := r.run("go")
		if turn.Status != TurnStatusCompleted || turn.EndReason != EndStop || turn.ModelCalls != 1+
			repair.MaxContinuations {
			t.Errorf("%+v", turn)
		}
		if got := texts(m.request(1).Messages); !strings.Contains(got, repair.NudgeLength) {
			t.Error(got)
		}
		if got := texts(r.s.Messages()); strings.Contains(got, repair.NudgeLength) {
			t.Error("a nudge was stored:", got)
		}
	})
}

// Every event can be serialized without loss.
func TestEventsSerialize(t *testing.T) {
	it := Item{ID: "i", Type: ItemToolCall, CreatedAt: time.Unix(1, 0).UTC(),
		Call: &CallItem{CallID: "c", Args: json.RawMessage(`{"a":1}`),
			Details: json.RawMessage(`{}`)}}
	for _, e := range []Event{
		&TurnStarted{TurnID: "t", MessageIDs: []string{"m"}},
		&TurnCompleted{Turn: Turn{TurnID: "t", Status: TurnStatusFailed, EndReason: EndError,
			Usage: message.Usage{Input: 1}, Error: &TurnError{Kind: "auth", Message: "no"}}},
		&ItemStarted{TurnID: "t", Item: it}, &ItemUpdated{TurnID: "t", Item: it},
		&ItemCompleted{TurnID: "t", Item: it},
		&ItemDelta{TurnID: "t", ItemID: "i", Kind: DeltaText, Text: "\u00e9"},
		&Retrying{TurnID: "t", Delay: time.Second, Kind: "transient"},
		&Compacted{TurnID: "t", Strategy: "mask", TokensBefore: 2, TokensAfter: 1},
		&StateChanged{State: State{Status: SessionIdle,
			Queue: []QueueEntry{{MessageID: "m", Content: text("x"), Held: true}}}},
	} {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%T: %v", e, err)
		}
		read := reflect.New(reflect.TypeOf(e).Elem()).Interface()
		if err := json.Unmarshal(b, read); err != nil || !reflect.DeepEqual(read, e) {
			t.Errorf("%T: %s\nis read as %+v, %v", e, b, read, err)
		}
	}
}

// A turn that is stored or logged uses the field names of the protocol. Older logs can be read too.
func TestTurnJSON(t *testing.T) {
	b, err := json.Marshal(Turn{TurnID: "t", Status: TurnStatusCompleted, EndReason: EndStop,
		ModelCalls: 2})
	if err != nil {
		t.Fatal(err)
	}
	eq(t, "turn", string(b), `{"turnId":"t","status":"completed","endReason":"stop",`+
		`"modelCalls":2,"toolCalls":0,"toolErrors":0,"usage":{"input":0,"output":0,"total":0}}`)
	var old Turn
	if err := json.Unmarshal([]byte(`{"TurnID":"t","Status":"completed","EndReason":"stop","ModelCalls":2}`), &old); err != nil || old.ModelCalls != 2 || old.TurnID != "t" {
		t.Errorf("%+v %v", old, err)
	}
}

// A hundred sessions that stream concurrently are served equally. Each model sends a piece every 10
// ms. Every piece must be delivered at that time, and no session may be more than one piece ahead
// of another.
func TestStreamsAreFair(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const sessions, pieces = 100, 50
		f := &fairness{t: t, start: time.Now(), said: map[string]int{}}
		var rigs []*rig
		for i := range sessions {
			m := script(step{do: func(ctx context.Context, _ *Request, on func(Delta)) (*Reply,
				error) {
				for range pieces {
					time.Sleep(10 * time.Millisecond)
					on(Delta{Kind: DeltaText, Text: "a word "})
				}
				reply := message.NewText(message.RoleAssistant, strings.Repeat("a word ", pieces))
				reply.Stop = message.StopEnd
				return &Reply{Message: reply}, ctx.Err()
			}})
			r := newRig(t, m, func(o *Options) {
				o.ID, o.Sink, o.Store = fmt.Sprint("s", i), f,
					nil
			})
			r.prompt("go")
			rigs = append(rigs, r)
		}
		for _, r := range rigs {
			r.wait("")
			r.close()
		}
		for id, n := range f.said {
			if n != pieces {
				t.Errorf("%s sent %d pieces", id, n)
			}
		}
		t.Logf("late at most %v", f.late)
		if f.late > 0 {
			t.Errorf("a piece came %v late", f.late)
		}
	})
}

// fairness is a Sink that records whether each session's pieces arrive at the expected times.
type fairness struct {
	t     *testing.T
	start time.Time

	mu   sync.Mutex
	said map[string]int
	late time.Duration
}

func (f *fairness) Emit(id string, e Event) {
	if d, ok := e.(ItemDelta); !ok || d.Kind != DeltaText {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said[id]++
	f.late = max(f.late, time.Since(f.start)-time.Duration(f.said[id])*10*time.Millisecond)
}

// If a summary lists the wrong files, the session replaces the lists.
func TestSummaryThatLies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newStrict(20000)
		m.reply = func(n int) step {
			if n%8 == 7 {
				return step{text: "done"}
			}
			return step{calls: []message.ToolCall{call("", "read", "")}}
		}
		m.summary = func() (*Reply, error) {
			return &Reply{Message: message.NewText(message.RoleAssistant,
				"## Goal\nLie.\n<modified-files>\n/w/never-touched.go\n</modified-files>\n<read-files>\n/w/never-read.go\n</read-files>")}, nil
		}
		read := fake("read", tool.ReadOnly, func(_ context.Context, c *tool.Call) (*tool.Result,
			error) {
			return &tool.Result{Text: strings.Repeat("line of text...\n", 90),
				Meta: tool.Meta{Kind: "file", Key: "/w/" + c.ID + ".go"}}, nil
		})
		last := ""
		r := strictRig(t, m, nil, read)
		r.env.Context.Reducers = []string{history.Summary}
		r.env.Hooks = []Hook{sentHook(func(msgs []*message.Message) { last = texts(msgs) })}
		defer r.close()
		for i := range 8 {
			r.run(fmt.Sprint("turn ", i))
		}
		if !strings.Contains(last, "context-summary") || strings.Contains(last, "never-") ||
			!strings.Contains(last, "<read-files>\\n/w/call_") {
			t.Errorf("%.1500s", last)
		}
	})
}

// A read-only call is retried after a temporary error, with increasing delays. It is not retried
// after a permanent error or an abort. A call that changes something is never retried.
func TestRetryAwareTools(t *testing.T) {
	for _, tc := range []struct {
		name   string
		effect tool.Effect
		fails  int
		err    error
		runs   int
		pause  time.Duration
		want   string
	}{
		{"works the third time", tool.ReadOnly, 2, &tool.TemporaryError{Err: errors.New("reset")},
			3, 3 * toolcall.RetryDelay, "fine"},
		{"never works", tool.ReadOnly, 9,
			fmt.Errorf("fetching: %w", &tool.TemporaryError{Err: errors.New("reset")}), 3,
			3 * toolcall.RetryDelay, "fetching: reset"},
		{"permanent", tool.ReadOnly, 9, errors.New("no such page"), 1, 0, "no such page"},
		{"changes something", tool.Mutates, 9, &tool.TemporaryError{Err: errors.New("reset")}, 1, 0,
			"reset"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				runs := 0
				get := fake("get", tc.effect, func(context.Context, *tool.Call) (*tool.Result,
					error) {
					if runs++; runs <= tc.fails {
						return nil, tc.err
					}
					return &tool.Result{Text: "fine"}, nil
				})
				r := newRig(t, script(step{calls: []message.ToolCall{call("c", "get", "")}},
					step{text: "ok"}), nil, get)
				defer r.close()
				start := time.Now()
				r.run("go")
				if took := time.Since(start); runs != tc.runs || took != tc.pause {
					t.Errorf("%d runs in %v", runs, took)
				}
				eq(t, "result", r.results(), "c: "+tc.want)
				if retried := strings.Contains(r.log.lines(),
					"trying again"); retried != (tc.runs > 1) {
					t.Errorf("shown: %t", retried)
				}
			})
		})
	}
	bubble(t, func(t *testing.T) {
		get := fake("get", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
			return nil, &tool.TemporaryError{Err: errors.New("reset")}
		})
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "get", "")}}), nil, get)
		defer r.close()
		acc := r.prompt("go")
		synctest.Wait() // it pauses
		start := time.Now()
		_, _ = r.s.Abort(AbortRequest{})
		if turn := r.wait(acc.TurnID); turn.Status != TurnStatusAborted || time.Since(start) > 0 {
			t.Errorf("%+v after %v", turn, time.Since(start))
		}
	})
}
