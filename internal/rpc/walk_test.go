package rpc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/tools"
)

// walk records the calls between the program's packages, at the boundaries that the test
// instruments.
type walk struct {
	mu      sync.Mutex
	entries map[string][]string // by package: calls into it from other packages
	seen    map[string]bool     // boundaries that were reached
}

// onTheWay lists the packages of the request path. It does not include leaf packages such as
// agent/toolcall, which import no other package of the path.
var onTheWay = []string{
	"internal/rpc", "internal/rpc/agentapi", "internal/host", "internal/agent",
}

// reach records the stack of its caller. It skips test functions, because they replace packages of
// the program.
func (w *walk) reach(border string) {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var stack []runtime.Frame // the innermost frame comes first
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

// walks contains one call each of edit, write and read, and whether the call proposes a change.
var walks = []struct {
	tool, args string
	proposes   bool
	result     string // expected beginning of the named file after the call
}{
	{"edit", `{"path": "link/a.txt", "old_string": "one", "new_string": "ONE"}`, true, "ONE\ntwo"},
	{"write", `{"path": "link/a.txt", "content": "all new\n"}`, true, "all new\n"},
	{"read", `{"path": "link/a.txt"}`, false, tenLines},
}

// TestBothWalksAreStraight sends a prompt that leads to one call of a real tool. Between the prompt
// request and the result, no package may be entered by more than two different calls. The
// environment is requested once for each model call. The tool is prepared once and run once.
func TestBothWalksAreStraight(t *testing.T) {
	for _, tc := range walks {
		t.Run(tc.tool, func(t *testing.T) {
			root, real, other := linkedFolders(t)
			w := &walk{entries: map[string][]string{}, seen: map[string]bool{}}
			walked := &walkedTool{name: tc.tool, w: w, root: root}
			c, asked := startWalk(t, walked, tc.args)
			r := c.prompt("", "go")
			if tc.proposes {
				c.acceptAll()
			}
			if turn := c.turnEnd(r.TurnID); turn.ToolCalls != 1 || turn.ToolErrors != 0 {
				t.Errorf("the turn made %d calls with %d errors", turn.ToolCalls, turn.ToolErrors)
			}
			w.check(t)
			if *asked != 2 || walked.prepared != 1 || walked.ran != 1 {
				t.Errorf("two model calls requested the environment %d times; "+
					"the call was prepared %d times and ran %d times", *asked, walked.prepared,
					walked.ran)
			}
			if got := contents(t, real); !strings.HasPrefix(got, tc.result) {
				t.Errorf("the file contains %.20q, want %.20q", got, tc.result)
			}
			if got := contents(t, other); got != tenLines {
				t.Errorf("the path was resolved again: the other file contains %.20q", got)
			}
		})
	}
}

// linkedFolders creates two folders that contain the same file, and a link to the first folder.
func linkedFolders(t *testing.T) (root, real, other string) {
	root = t.TempDir()
	for _, dir := range []string{"real", "other"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(root, dir, "a.txt")
		if err := os.WriteFile(name, []byte(tenLines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(root, "link")); err != nil {
		t.Skip("this system does not support symbolic links: ", err)
	}
	return root, filepath.Join(root, "real", "a.txt"), filepath.Join(root, "other", "a.txt")
}

func contents(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// startWalk starts a server whose boundaries report to the walk. asked counts the requests for the
// environment. It may be read after the turn.
func startWalk(t *testing.T, walked *walkedTool, args string) (c *testClient, asked *int) {
	w := walked.w
	reply := callOnce(walked.name, args)
	model := fakeModel(func(
		ctx context.Context, r *agent.Request, on func(agent.Delta),
	) (*agent.Reply, error) {
		w.reach("model")
		return reply(ctx, r, on)
	})
	asked = new(int)
	walked.core = func() *agentapi.Core { return c.core }
	c = claimed(t, harnessOptions{
		root: walked.root, model: model, tools: []tool.Tool{walked},
		ready: func() error { w.reach("prompt"); return nil },
		prompt: func(o *agent.Options, _ *testClient) {
			next := o.Environment
			o.Environment = agent.EnvironmentFunc(func(
				ctx context.Context, turn agent.TurnInfo,
			) (agent.Step, error) {
				*asked++
				w.reach("environment")
				return next.Next(ctx, turn)
			})
			o.Approver = walkedApprover{w}
			o.NewID = func(prefix string) string { // IDs of messages, turns, items
				w.reach("session")
				return prefix + rand.Text()
			}
		},
	})
	return c, asked
}

// callOnce returns a model that calls a tool and then ends the turn.
func callOnce(name, args string) fakeModel {
	call := callsOnce(name)
	return func(ctx context.Context, r *agent.Request, on func(agent.Delta)) (*agent.Reply, error) {
		reply, err := call(ctx, r, on)
		if err == nil {
			for _, c := range reply.Message.ToolCalls() {
				c.Args = json.RawMessage(args)
			}
		}
		return reply, err
	}
}

// acceptAll accepts the next proposal.
func (c *testClient) acceptAll() {
	c.t.Helper()
	m, _ := c.wait("the proposal", isMethod(wire.MethodProposalCreated))
	var p wire.ProposalCreated
	if err := json.Unmarshal(m.Params, &p); err != nil {
		c.t.Fatal(err)
	}
	c.call(wire.MethodProposalResolve, map[string]any{
		"proposalId": p.Proposal.ProposalID,
		"decisions":  []any{map[string]any{"hunkId": "*", "action": "accept"}},
	}, nil)
}

func (w *walk) check(t *testing.T) {
	t.Helper()
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
}

// walkedTool is a real tool that records how it is called. It removes the call's JSON, which the
// registry has already decoded, so that decoding it a second time fails. As soon as the call is
// prepared, it redirects the link to the other folder, so that resolving the path a second time has
// a different result.
type walkedTool struct {
	name          string
	root          string
	core          func() *agentapi.Core
	w             *walk
	prepared, ran int
}

func toolNamed(name string, d tools.Deps, sessionID string) tool.Tool {
	for _, made := range tools.New(d).For(tools.Session{ID: sessionID}) {
		if made.Spec().Name == name {
			return made
		}
	}
	panic("there is no tool " + name)
}

func (t *walkedTool) Spec() tool.Spec { return toolNamed(t.name, tools.Deps{}, "").Spec() }

// read makes the session read the file, because a file must be read before it is changed.
func (t *walkedTool) read(ctx context.Context, d tools.Deps, call *tool.Call) error {
	before := tool.Call{
		SessionID: call.SessionID, Cwd: call.Cwd, Args: []byte(`{"path": "link/a.txt"}`),
	}
	p, err := toolNamed("read", d, call.SessionID).Prepare(ctx, &before)
	if err == nil {
		_, err = p.Run(ctx, &before)
	}
	return err
}

func (t *walkedTool) Prepare(ctx context.Context, call *tool.Call) (*tool.Prepared, error) {
	t.prepared++
	t.w.reach("prepare")
	d := tools.Deps{Workspace: t.core().Workspace}
	if err := t.read(ctx, d, call); err != nil {
		return nil, err
	}
	blind := *call
	blind.Args = nil
	p, err := toolNamed(t.name, d, call.SessionID).Prepare(ctx, &blind)
	if err != nil {
		return nil, err
	}
	link := filepath.Join(t.root, "link")
	if err := errors.Join(os.Remove(link), os.Symlink("other", link)); err != nil {
		return nil, err
	}
	run := p.Run
	p.Run = func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		t.ran++
		t.w.reach("run")
		blind := *call
		blind.Args = nil
		return run(ctx, &blind)
	}
	return p, nil
}

type walkedApprover struct{ w *walk }

func (a walkedApprover) Approve(_ context.Context, r tool.ApprovalRequest) (tool.Decision, error) {
	a.w.reach("policy")
	if r.Subject == nil || len(r.Subject.Paths) != 1 ||
		filepath.Base(filepath.Dir(r.Subject.Paths[0])) != "real" {
		return tool.Decision{Reason: fmt.Sprintf("asked about %+v", r.Subject)}, nil
	}
	return tool.Decision{Allow: true}, nil
}

// decoding matches code that decodes the JSON of a call.
var decoding = regexp.MustCompile(`(Unmarshal|NewDecoder)\([^)\n]*\bcall\.Args\b`)

// Tools, hooks and the policy do not decode a call's JSON. Instead, they use tool.Call.Decode,
// which returns what the registry decoded. The import of sessions is an exception, because it reads
// calls of other programs.
func TestNoToolDecodesACallAgain(t *testing.T) {
	const exception = "../agent/session/import.go"
	for _, dir := range []string{"agent", "app", "hooks", "policy", "rpc", "tools"} {
		err := filepath.WalkDir("../"+dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" ||
				strings.HasSuffix(path, "_test.go") || filepath.ToSlash(path) == exception {
				return err
			}
			if found := decoding.FindString(contents(t, path)); found != "" {
				t.Errorf("%s: %s: use call.Decode", path, found)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
