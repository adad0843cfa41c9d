package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// editTool edits the file that its argument names. It waits for the user's decision, unless the
// edit is applied without asking.
type editTool struct {
	apply   bool
	mu      sync.Mutex
	waiting map[string]chan string // channels that deliver the decisions, by call
	running int
	most    int
	order   []string
}

func (e *editTool) Spec() tool.Spec {
	schema := `{"type":"object","properties":{"path":{"type":"string"}}}`
	return tool.Spec{Name: "edit", Effect: tool.Mutates, Schema: json.RawMessage(schema)}
}

func (e *editTool) Prepare(_ context.Context, c *tool.Call) (*tool.Prepared, error) {
	var args struct{ Path string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, err
	}
	return &tool.Prepared{Locks: []string{args.Path}, Run: e.run}, nil
}

func (e *editTool) run(ctx context.Context, c *tool.Call) (*tool.Result, error) {
	decision := make(chan string, 1)
	e.mu.Lock()
	e.order = append(e.order, c.ID)
	e.running++
	e.most = max(e.most, e.running)
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.running--
		delete(e.waiting, c.ID)
	}()
	if e.apply {
		return &tool.Result{Text: "applied"}, nil
	}
	ctx, done := c.WaitContext(ctx)
	defer done()
	e.mu.Lock()
	e.waiting[c.ID] = decision
	e.mu.Unlock()
	select {
	case d := <-decision:
		return &tool.Result{Text: d}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// waits returns the calls that are waiting for the user.
func (e *editTool) waits() string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	ids := []string{}
	for id := range e.waiting {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func (e *editTool) decide(id, decision string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting[id] <- decision
}

func edit(id, path string) message.ToolCall {
	return call(id, "edit", fmt.Sprintf(`{"path":%q}`, path))
}

// editRig returns a session whose model makes the given calls in one reply.
func editRig(t *testing.T, e *editTool, opts func(*Options), calls ...message.ToolCall) *rig {
	e.waiting = map[string]chan string{}
	m := script(step{calls: calls}, step{text: "ok"}, step{text: "ok"})
	r := newRig(t, m, opts, e, fake("read", tool.ReadOnly, nil))
	t.Cleanup(r.close)
	return r
}

// Edits to different files wait for the user concurrently. Edits to the same file run one at a
// time. A call that may read any file starts after all earlier edits are done, and later edits wait
// for it.
func TestEditsWaitTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := &editTool{}
		r := editRig(t, e, nil,
			edit("1", "a"), edit("2", "b"), edit("3", "a"), edit("4", "c"), edit("5", "a"),
			call("6", "read", ""), edit("7", "d"))
		turn := r.prompt("go").TurnID
		eq(t, "waiting", e.waits(), "1 2 4")
		e.decide("2", "no")
		eq(t, "waiting", e.waits(), "1 4")
		eq(t, "results", r.results(), "")
		e.decide("1", "yes")
		eq(t, "waiting", e.waits(), "3 4")
		eq(t, "results", r.results(), "1: yes\n2: no\n")
		e.decide("3", "yes")
		eq(t, "waiting", e.waits(), "4 5")
		e.decide("4", "yes")
		e.decide("5", "yes")
		eq(t, "waiting", e.waits(), "7")
		e.decide("7", "yes")
		r.wait(turn)
		eq(t, "results", r.results(),
			"1: yes\n2: no\n3: yes\n4: yes\n5: yes\n6: read ran\n7: yes\n")
	})
}

// Edits that do not wait for the user run one at a time.
func TestEditsWithoutAQuestionRunInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := &editTool{apply: true}
		r := editRig(t, e, nil, edit("1", "a"), edit("2", "b"), edit("3", "a"), edit("4", "c"))
		r.run("go")
		if eq(t, "order", strings.Join(e.order, " "), "1 2 3 4"); e.most != 1 {
			t.Errorf("%d ran together", e.most)
		}
	})
}

// A call with invalid arguments gets its result and does not delay later edits.
func TestInvalidCallBetweenEdits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := &editTool{}
		r := editRig(t, e, nil,
			edit("1", "a"), call("2", "edit", `{"path":["x"]}`), edit("3", "b"))
		turn := r.prompt("go").TurnID
		eq(t, "waiting", e.waits(), "1 3")
		e.decide("1", "yes")
		e.decide("3", "yes")
		r.wait(turn)
		if got := r.results(); !strings.Contains(got, "2: Invalid arguments for edit") {
			t.Error(got)
		}
	})
}

// An abort or a steer ends all waiting edits. Later edits do not begin.
func TestEditsThatWaitEndTogether(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(s *Session) error
		want string
	}{
		"abort": {
			func(s *Session) error { _, err := s.Abort(AbortRequest{}); return err },
			"1: Tool execution cancelled.\n2: Tool execution cancelled.\n" +
				"3: Tool execution cancelled.\n",
		},
		"steer": {
			func(s *Session) error {
				_, err := s.Steer(SteerRequest{Content: text("stop")})
				return err
			},
			"1: the user sent a message instead: stop\n2: the user sent a message instead: stop\n" +
				"3: Skipped due to queued user message.\n",
		},
	} {
		bubble(t, func(t *testing.T) {
			e := &editTool{}
			r := editRig(t, e, nil, edit("1", "a"), edit("2", "b"), edit("3", "a"))
			turn := r.prompt("go").TurnID
			eq(t, name, e.waits(), "1 2")
			if err := c.end(r.s); err != nil {
				t.Fatal(err)
			}
			r.wait(turn)
			eq(t, name, r.results(), c.want)
			if got := strings.Join(e.order, " "); got != "1 2" {
				t.Errorf("%s: %s ran", name, got)
			}
		})
	}
}

// toA is a hook that redirects every edit to the file a.
type toA struct{}

func (toA) HookName() string { return "toA" }

func (toA) BeforeTool(context.Context, *tool.Call, tool.Spec) (ToolOutcome, error) {
	return ToolOutcome{Args: json.RawMessage(`{"path":"a"}`)}, nil
}

// If a hook replaces a call's arguments, the call is scheduled by the file that the new arguments
// name.
func TestEditsOfAFileThatAHookNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := &editTool{}
		opts := func(o *Options) { withHooks(o, toA{}) }
		r := editRig(t, e, opts, edit("1", "a"), edit("2", "b"))
		turn := r.prompt("go").TurnID
		eq(t, "waiting", e.waits(), "1")
		e.decide("1", "yes")
		eq(t, "waiting", e.waits(), "2")
		e.decide("2", "yes")
		r.wait(turn)
	})
}

// readTool reads the file that its argument names.
type readTool struct{}

func (readTool) Spec() tool.Spec {
	schema := `{"type":"object","properties":{"path":{"type":"string"}}}`
	return tool.Spec{Name: "readFile", Effect: tool.ReadOnly, Schema: json.RawMessage(schema)}
}

func (readTool) Prepare(_ context.Context, c *tool.Call) (*tool.Prepared, error) {
	var args struct{ Path string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, err
	}
	run := func(context.Context, *tool.Call) (*tool.Result, error) {
		return &tool.Result{Text: "read " + args.Path}, nil
	}
	return &tool.Prepared{Reads: []string{args.Path}, Run: run}, nil
}

func readFile(id, path string) message.ToolCall {
	return call(id, "readFile", fmt.Sprintf(`{"path":%q}`, path))
}

// A read between two edits delays the later edit only if both access the same file. The read then
// runs after an earlier edit of its file and before a later one. The results keep the order of the
// calls.
func TestReadsBetweenEditsThatWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := &editTool{waiting: map[string]chan string{}}
		calls := []message.ToolCall{
			edit("1", "a"), readFile("2", "b"), edit("3", "b"), readFile("4", "a"), edit("5", "a"),
			edit("6", "c"),
		}
		m := script(step{calls: calls}, step{text: "ok"})
		r := newRig(t, m, nil, e, readTool{})
		t.Cleanup(r.close)
		turn := r.prompt("go").TurnID
		eq(t, "waiting", e.waits(), "1 3 6")
		eq(t, "results", r.results(), "")
		e.decide("6", "yes")
		e.decide("1", "yes")
		eq(t, "waiting", e.waits(), "3 5")
		eq(t, "results", r.results(), "1: yes\n2: read b\n")
		e.decide("5", "no")
		e.decide("3", "yes")
		r.wait(turn)
		eq(t, "results", r.results(),
			"1: yes\n2: read b\n3: yes\n4: read a\n5: no\n6: yes\n")
	})
}
