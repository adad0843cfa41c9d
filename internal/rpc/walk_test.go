package rpc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// walk records by which calls the program's packages are entered, at the boundaries where the test
// takes part.
type walk struct {
	mu      sync.Mutex
	entries map[string][]string // by package: the calls into it from other packages
	seen    map[string]bool     // the boundaries that were reached
}

// onTheWay lists the packages of the request path. Leaves are not included, because they import no
// other package of the path. One of them is agent/toolcall, whose stages the engine calls one after
// another.
var onTheWay = []string{
	"internal/rpc", "internal/rpc/agentapi", "internal/host", "internal/agent",
}

// reach records the stack of its caller. Test functions are skipped, because they replace packages
// of the program.
func (w *walk) reach(border string) {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var stack []runtime.Frame // innermost first
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if !strings.HasSuffix(f.File, "_test.go") && slices.Contains(onTheWay, packageOf(f)) {
			stack = append(stack, f)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[border] = true
	for i := len(stack) - 2; i >= 0; i-- {
		from, to := stack[i+1], stack[i]
		pkg := packageOf(to)
		call := from.Function + " → " + to.Function
		if packageOf(from) != pkg && !slices.Contains(w.entries[pkg], call) {
			w.entries[pkg] = append(w.entries[pkg], call)
		}
	}
}

// packageOf returns the package of a function, relative to the module.
func packageOf(f runtime.Frame) string {
	name := strings.TrimPrefix(f.Function, "github.com/agent-lsp/agent-lsp/")
	slash := strings.LastIndexByte(name, '/')
	dot := strings.IndexByte(name[slash+1:], '.')
	return name[:slash+1+max(dot, 0)]
}

// TestBothWalksAreStraight plays a prompt with one edit. Between the frame and the result, no
// package is entered by more than two different calls, and each stage asks once: the environment
// once for each model call, the tool once for its arguments and once for its run.
func TestBothWalksAreStraight(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte(tenLines), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &walk{entries: map[string][]string{}, seen: map[string]bool{}}
	var c *testClient
	edit := &walkedTool{
		toolFunc: editTool(func() *agentapi.Core { return c.core }, "a.txt"), w: w,
	}
	reply := callsOnce("edit")
	model := fakeModel(func(
		ctx context.Context, r *agent.Request, on func(agent.Delta),
	) (*agent.Reply, error) {
		w.reach("model")
		return reply(ctx, r, on)
	})
	asked := 0
	c = claimed(t, harnessOptions{
		root: root, model: model, tools: []tool.Tool{edit},
		ready: func() error { w.reach("prompt"); return nil },
		prompt: func(o *agent.Options, _ *testClient) {
			next := o.Environment
			o.Environment = agent.EnvironmentFunc(func(
				ctx context.Context, turn agent.TurnInfo,
			) (agent.Step, error) {
				asked++
				w.reach("environment")
				return next.Next(ctx, turn)
			})
			o.Approver = walkedApprover{w}
			o.NewID = func(prefix string) string { // the ID of a message, a turn or an item
				w.reach("session")
				return prefix + rand.Text()
			}
		},
	})
	r := c.prompt("", "edit it")
	m, _ := c.wait("the proposal", isMethod(wire.MethodProposalCreated))
	var p wire.ProposalCreated
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Fatal(err)
	}
	c.call(wire.MethodProposalResolve, map[string]any{
		"proposalId": p.Proposal.ProposalID,
		"decisions":  []any{map[string]any{"hunkId": "*", "action": "reject"}},
	}, nil)
	if turn := c.turnEnd(r.TurnID); turn.ToolCalls != 1 || turn.ToolErrors != 0 {
		t.Errorf("the turn made %d calls with %d errors", turn.ToolCalls, turn.ToolErrors)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, border := range []string{
		"prompt", "session", "environment", "model", "prepare", "policy", "run",
	} {
		if !w.seen[border] {
			t.Errorf("the walk did not reach %q", border)
		}
	}
	for pkg, calls := range w.entries {
		if len(calls) > 2 {
			t.Errorf("%s is entered by %d calls:\n%s", pkg, len(calls), strings.Join(calls, "\n"))
		}
	}
	if asked != 2 || edit.prepared != 1 || edit.ran != 1 {
		t.Errorf("two model calls asked the environment %d times; "+
			"the edit was prepared %d times and ran %d times", asked, edit.prepared, edit.ran)
	}
}

// walkedTool records how it is reached.
type walkedTool struct {
	toolFunc
	w             *walk
	prepared, ran int
}

func (t *walkedTool) Prepare(ctx context.Context, call *tool.Call) (*tool.Prepared, error) {
	t.prepared++
	t.w.reach("prepare")
	p, err := t.toolFunc.Prepare(ctx, call)
	if err != nil {
		return nil, err
	}
	run := p.Run
	p.Run = func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		t.ran++
		t.w.reach("run")
		return run(ctx, call)
	}
	return p, nil
}

type walkedApprover struct{ w *walk }

func (a walkedApprover) Approve(context.Context, tool.ApprovalRequest) (tool.Decision, error) {
	a.w.reach("policy")
	return tool.Decision{Allow: true}, nil
}
