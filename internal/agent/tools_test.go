package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
	"github.com/agent-lsp/agent-lsp/internal/keylock"
)

// tracer records when calls start and end.
type tracer struct {
	mu   sync.Mutex
	log  []string
	now  int
	most int
}

func (tr *tracer) tool(name string, e tool.Effect, d time.Duration) *funcTool {
	return fake(name, e, func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		tr.mu.Lock()
		tr.log = append(tr.log, "+"+c.ID)
		tr.now++
		tr.most = max(tr.most, tr.now)
		tr.mu.Unlock()
		time.Sleep(d)
		tr.mu.Lock()
		tr.log = append(tr.log, "-"+c.ID)
		tr.now--
		tr.mu.Unlock()
		return &tool.Result{Text: c.ID}, nil
	})
}

// Adjacent read-only calls run concurrently, each mutating call runs alone, and the results are in
// call order.
func TestOrderedScheduler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tr := &tracer{}
		m := script(step{calls: []message.ToolCall{
			call("1", "slow", ""), call("2", "quick", ""), call("3", "write", ""),
			call("4", "quick", ""), call("5", "write", ""), call("6", "write", ""),
		}}, step{text: "ok"})
		r := newRig(t, m, nil, tr.tool("slow", tool.ReadOnly, 3*time.Second),
			tr.tool("quick", tool.ReadOnly, time.Second),
			tr.tool("write", tool.Mutates, time.Second))
		defer r.close()
		r.run("go")
		got := strings.Join(tr.log, " ")
		if got != "+1 +2 -2 -1 +3 -3 +4 -4 +5 -5 +6 -6" &&
			got != "+2 +1 -2 -1 +3 -3 +4 -4 +5 -5 +6 -6" {
			t.Error(got)
		}
		eq(t, "results", r.results(), "1: 1\n2: 2\n3: 3\n4: 4\n5: 5\n6: 6")
	})
}

func TestAtMostEightTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tr := &tracer{}
		var calls []message.ToolCall
		for i := range 50 {
			calls = append(calls, call(fmt.Sprint(i), "read", ""))
		}
		r := newRig(t, script(step{calls: calls}, step{text: "ok"}), nil,
			tr.tool("read", tool.ReadOnly, time.Second))
		defer r.close()
		r.run("go")
		if tr.most != MaxParallelCalls {
			t.Errorf("%d ran together", tr.most)
		}
	})
}

// Calls that share a resource never overlap, even across the sessions of sub-agents.
func TestLocksAcrossSessions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tr, locks := &tracer{}, &keylock.Locks{}
		var rigs []*rig
		for range 2 {
			m := script(step{calls: []message.ToolCall{call("1", "read", ""),
				call("2", "read", "")}}, step{text: "ok"})
			r := newRig(t, m, func(o *Options) { o.Locks = locks },
				tr.tool("read", tool.ReadOnly,
					time.Second).saying(tool.Prepared{Locks: []string{"/b", "/a", "/a"}}))
			defer r.close()
			r.prompt("go")
			rigs = append(rigs, r)
		}
		for _, r := range rigs {
			r.wait("")
		}
		if tr.most != 1 {
			t.Errorf("%d overlapped", tr.most)
		}
		wantFree(t, locks)
	})
}

// wantFree fails the test if a call has not released its locks. It must be called in a synctest
// bubble, where waiting takes no real time.
func wantFree(t *testing.T, locks *keylock.Locks) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	release, err := locks.Acquire(ctx, []string{"/a", "/b"})
	if err != nil {
		t.Fatal("a lock was left: ", err)
	}
	release()
}

// While a call waits for the user, it holds no lock. Another session's call can run in the
// meantime.
func TestWaitHoldsNoLock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		locks, ran, waiting := &keylock.Locks{}, make(chan struct{}), make(chan struct{})
		waits := &funcTool{spec: tool.Spec{Name: "waits", Effect: tool.ReadOnly},
			run: func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
				ctx, cancel := c.WaitContext(ctx)
				defer cancel()
				close(waiting)
				select {
				case <-ran:
					return &tool.Result{Text: "answered"}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}}
		runs := &funcTool{spec: tool.Spec{Name: "runs", Effect: tool.ReadOnly},
			run: func(context.Context, *tool.Call) (*tool.Result, error) {
				close(ran)
				return &tool.Result{Text: "ran"}, nil
			}}
		a := newRig(t, script(step{calls: []message.ToolCall{call("1", "waits", "")}},
			step{text: "ok"}), func(o *Options) { o.Locks = locks },
			waits.saying(tool.Prepared{Locks: []string{"/b", "/a", "/a"}}))
		defer a.close()
		b := newRig(t, script(step{calls: []message.ToolCall{call("1", "runs", "")}},
			step{text: "ok"}), func(o *Options) { o.Locks = locks },
			runs.saying(tool.Prepared{Locks: []string{"/b", "/a", "/a"}}))
		defer b.close()
		a.prompt("go")
		<-waiting
		b.prompt("go")
		b.wait("")
		a.wait("")
		wantFree(t, locks)
	})
}

// Five failures of a tool open its circuit breaker. Denials do not count. After a pause, one call
// is tried.
func TestBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mode := "denied"
		bad := fake("bad", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
			switch mode {
			case "denied":
				return &tool.Result{Text: "no", IsError: true, Denied: true}, nil
			case "fail":
				return nil, errors.New("broken")
			}
			return &tool.Result{Text: "fine"}, nil
		})
		m := script()
		r := newRig(t, m, nil, bad)
		defer r.close()
		once := func() string {
			m.steps = []step{{calls: []message.ToolCall{call("", "bad", "")}}, {text: "ok"}}
			r.run("go")
			msgs := r.s.Messages()
			return msgs[len(msgs)-2].TextContent()
		}
		for range 2 * toolcall.BreakerFailures {
			once()
		}
		mode = "fail"
		for i := range toolcall.BreakerFailures {
			if got := once(); got != "broken" {
				t.Fatalf("failure %d: %s", i, got)
			}
		}
		if got := once(); !strings.Contains(got, "disabled") {
			t.Error("open:", got)
		}
		time.Sleep(toolcall.BreakerPause + time.Second)
		if got := once(); got != "broken" {
			t.Error("probe:", got)
		}
		if got := once(); !strings.Contains(got, "disabled") {
			t.Error("open again:", got)
		}
		time.Sleep(toolcall.BreakerPause + time.Second)
		mode = "fine"
		for range 3 {
			if got := once(); got != "fine" {
				t.Error("closed again:", got)
			}
		}
	})
}

// If a result is too long, the model gets its beginning and its end. The complete result can be
// read from a file.
func TestResultCapAndSpill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		long := "HEAD\n" + strings.Repeat("中文 line\n", 20000) + "TAIL"
		spilled := ""
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "big", "")}},
			step{text: "ok"}), func(o *Options) {
			o.Spill = func(_, text string) (string, error) {
				spilled = text
				return "/spill/1",
					nil
			}
		}, fake("big", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result,
			error) {
			return &tool.Result{Text: long}, nil
		}))
		defer r.close()
		r.run("go")
		m := r.s.Messages()[2]
		got := m.TextContent()
		if !strings.HasPrefix(got, "HEAD") || !strings.HasSuffix(got, "TAIL") ||
			!strings.Contains(got, "the full text is in /spill/1") ||
			len(got) > toolcall.DefaultMaxResult+200 || strings.Contains(got, "\uFFFD") {
			t.Errorf("%d bytes: %.60q … %q", len(got), got, got[len(got)-60:])
		}
		if spilled != long || !strings.Contains(string(m.Meta[tool.MetaKey]), "/spill/1") {
			t.Error("the complete result was not stored")
		}
	})
}

// An image in a result reaches the model. A deferred tool is offered once it has been activated.
// Labels and progress are reported. Clients also receive details, and whether a call failed.
func TestRichResultsAndDeferredTools(t *testing.T) {
	bubble(t, func(t *testing.T) {
		late := fake("late", tool.ReadOnly, nil)
		late.spec.Deferred = true
		find := fake("find", tool.ReadOnly,
			func(_ context.Context, c *tool.Call) (*tool.Result, error) {
				c.Emit("searching")
				c.Report(tool.Update{Label: "Finding"})
				return &tool.Result{Text: "found", Activate: []string{"LATE"},
					Details: json.RawMessage(`{"n":1}`),
					Content: []message.Block{{Type: message.Image, MimeType: "image/png",
						Data: []byte{1}}}}, nil
			})
		fail := fake("fail", tool.ReadOnly,
			func(context.Context, *tool.Call) (*tool.Result, error) {
				return &tool.Result{Text: "no", IsError: true}, nil
			}).saying(tool.Prepared{Label: "Failing"})
		m := script(step{calls: []message.ToolCall{call("c", "find", ""), call("d", "fail", "")}},
			step{text: "ok"})
		r := newRig(t, m, nil, find, fail, late)
		defer r.close()
		r.run("go")
		if n := len(m.request(0).Tools); n != 2 {
			t.Errorf("%d tools before", n)
		}
		if ts := m.request(1).Tools; len(ts) != 3 || !ts[2].Deferred {
			t.Errorf("tools after: %v", ts)
		}
		again := NewSession(Options{ID: "s", Restored: Restored{Messages: r.s.Messages()}})
		if !again.conv.active["late"] {
			t.Error("the deferred tool is not loaded after a restart")
		}
		res := m.request(1).Messages[2]
		if len(res.Content) != 2 || res.Content[1].Type != message.Image || res.IsError ||
			!m.request(1).Messages[3].IsError {
			t.Errorf("result %+v", res.Content)
		}
		if lines := r.log.lines(); !strings.Contains(lines, `delta toolOutput "searching"`) {
			t.Error(lines)
		}
		var shown []string
		for _, e := range r.log.all() {
			if done, ok := e.(ItemCompleted); ok && done.Item.Call != nil {
				c := done.Item.Call
				shown = append(shown, fmt.Sprintf("%s %v %s %d", c.Label, c.IsError, c.Details,
					len(c.Content)))
			}
		}
		slices.Sort(shown) // the calls run in parallel
		eq(t, "items", strings.Join(shown, "\n"), "Failing true  0\nFinding false {\"n\":1} 1")
	})
}

// approverFunc is an Approver that calls a function.
type approverFunc func(ctx context.Context, r tool.ApprovalRequest) (tool.Decision, error)

func (f approverFunc) Approve(ctx context.Context, r tool.ApprovalRequest) (tool.Decision, error) {
	return f(ctx, r)
}

// Approval is requested after the arguments are validated and before the tool runs.
func TestApproval(t *testing.T) {
	for _, tc := range []struct {
		args string
		dec  tool.Decision
		err  error
		want string
		asks bool
	}{
		{`{"a":1}`, tool.Decision{Allow: true}, nil, `ran {"a":1} false`, true},
		{`{"a":1}`, tool.Decision{Allow: true, Unboxed: true}, nil, `ran {"a":1} true`, true},
		{`{"a":1}`, tool.Decision{}, nil, "tool execution denied", true},
		{`{"a":1}`, tool.Decision{Reason: "not today"}, nil, "not today", true},
		{`{"a":1}`, tool.Decision{Allow: true}, errors.New("broken"), "broken", true},
	} {
		bubble(t, func(t *testing.T) {
			var asked *tool.ApprovalRequest
			do := fake("do", tool.Mutates,
				func(_ context.Context, c *tool.Call) (*tool.Result, error) {
					return &tool.Result{Text: fmt.Sprintf("ran %s %v", c.Args, c.Unboxed)}, nil
				}).saying(tool.Prepared{Subject: &tool.Subject{Kind: tool.SubjectCommand,
				Command: "do"}})
			r := newRig(t, script(step{calls: []message.ToolCall{call("c", "do", tc.args)}},
				step{text: "ok"}), func(o *Options) {
				o.Approver = approverFunc(func(_ context.Context,
					r tool.ApprovalRequest) (tool.Decision, error) {
					asked = &r
					return tc.dec, tc.err
				})
			}, do)
			defer r.close()
			r.run("go")
			eq(t, "result", r.results(), "c: "+tc.want)
			if (asked != nil) != tc.asks || asked != nil &&
				(string(asked.Args) != tc.args || asked.Subject.Command != "do") {
				t.Errorf("asked %+v", asked)
			}
		})
	}
}

// foreseer decides in advance about the calls in its map. When a call is due, it records the
// decision that it receives.
type foreseer struct {
	mu     sync.Mutex
	said   map[string]bool
	handed []string
}

func (f *foreseer) Foresee(_ context.Context, r tool.ApprovalRequest) *tool.Decision {
	r.Waiting()
	allow, ok := f.said[r.CallID]
	if !ok {
		return nil
	}
	return &tool.Decision{Allow: allow, Reason: "no"}
}

func (f *foreseer) Approve(_ context.Context, r tool.ApprovalRequest) (tool.Decision, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	said := "unasked"
	if r.Foreseen != nil {
		said = fmt.Sprint(r.Foreseen.Allow)
	}
	f.handed = append(f.handed, strings.TrimSpace(r.CallID+" "+said+" "+r.Again))
	return tool.Decision{Allow: r.Foreseen == nil || r.Foreseen.Allow, Reason: "no"}, nil
}

// The user is asked in advance about calls that start after the first group. A permission is used
// when the call is due, unless an earlier call has failed since then. If a hook may change a call,
// the user is asked only when that call is due.
func TestAskedAhead(t *testing.T) {
	for _, tc := range []struct {
		name  string
		calls []message.ToolCall
		hooks []Hook
		want  string
	}{
		{"answers", []message.ToolCall{call("a", "do", `{}`), call("b", "do", `{}`),
			call("n", "do", `{}`), call("u", "do", `{}`)}, nil,
			"a unasked, b true, n false, u unasked"},
		{"behind a failure", []message.ToolCall{call("a", "fail", `{}`), call("b", "do", `{}`),
			call("n", "do", `{}`)}, nil,
			"a unasked, b unasked " + FalteredText + ", n false"},
		{"behind what failed before anybody was asked",
			[]message.ToolCall{call("a", "nosuch", `{}`), call("b", "do", `{}`)}, nil, "b true"},
		{"behind a refusal", []message.ToolCall{call("a", "do", `{}`), call("n", "do", `{}`),
			call("b", "do", `{}`)}, nil, "a unasked, n false, b true"},
		{"a hook", []message.ToolCall{call("a", "do", `{}`), call("b", "do", `{}`)},
			[]Hook{&goodHook{}}, "a unasked, b unasked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := &foreseer{said: map[string]bool{"b": true, "n": false}}
				r := newRig(t, script(step{calls: tc.calls}, step{text: "ok"}),
					func(o *Options) { o.Approver = f; withHooks(o, tc.hooks...) },
					fake("do", tool.Mutates, nil).asked(),
					fake("fail", tool.Mutates, func(context.Context, *tool.Call) (*tool.Result,
						error) {
						return &tool.Result{Text: "so so", Missed: true}, nil
					}).asked())
				defer r.close()
				r.run("go")
				eq(t, "handed", strings.Join(f.handed, ", "), tc.want)
			})
		})
	}
}
