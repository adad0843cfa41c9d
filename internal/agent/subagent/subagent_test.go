package subagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a model that repeats the last user message, or does what the message says: fail, panic or
// wait.
type echo struct {
	peak, now atomic.Int32
	waits     func() // called when a task waits; may be nil
}

func (e *echo) Info() agent.ModelInfo { return agent.ModelInfo{ID: "echo"} }

func (e *echo) Generate(ctx context.Context, req *agent.Request,
	on func(agent.Delta)) (*agent.Reply, error) {
	n := e.now.Add(1)
	defer e.now.Add(-1)
	for p := e.peak.Load(); n > p && !e.peak.CompareAndSwap(p, n); p = e.peak.Load() {
	}
	text := ""
	for _, m := range req.Messages {
		if m.Role == message.RoleUser {
			text = m.TextContent()
		}
	}
	switch {
	case strings.Contains(text, "wait"):
		if e.waits != nil {
			e.waits()
		}
		<-ctx.Done()
		return nil, ctx.Err()
	case strings.Contains(text, "panic"):
		panic("boom")
	case strings.Contains(text, "fail"):
		return nil, errors.New("no")
	}
	text = "said: " + text
	on(agent.Delta{Kind: agent.DeltaText, Text: text})
	m := message.NewText(message.RoleAssistant, text)
	m.Stop, m.Usage = message.StopEnd, &message.Usage{Input: 1, Output: 1, Total: 2}
	return &agent.Reply{Message: m, Finish: "stop"}, nil
}

type bench struct {
	tool  *Tool
	model *echo
	seen  []agent.Event
	spent message.Usage
}

func setup(agents ...Agent) *bench {
	b := &bench{model: &echo{}}
	n := atomic.Int32{}
	b.tool = New(Options{
		Agents: func() []Agent { return agents },
		Child: func(_ context.Context, s Spawn) (agent.Options, error) {
			if s.Model == "missing" {
				return agent.Options{}, errors.New("there is no model missing")
			}
			env := agent.EnvironmentFunc(func(context.Context, agent.TurnInfo) (agent.Step, error) {
				reg, err := tool.NewRegistry()
				return agent.Step{Models: []agent.Model{b.model}, Tools: reg,
					Retry: retry.Policy{MaxRetries: -1}}, err
			})
			return agent.Options{ID: fmt.Sprintf("child%d", n.Add(1)), Environment: env}, nil
		},
	})
	return b
}

func (b *bench) run(ctx context.Context, t *testing.T, args string) (*tool.Result, error) {
	t.Helper()
	call := &tool.Call{ItemID: "item1", SessionID: "s1", Args: json.RawMessage(args),
		Nested: func(e agent.Event) {
			if _, ok := e.(agent.ItemCompleted); ok {
				b.seen = append(b.seen, e)
			}
		}, Spent: func(u message.Usage) { b.spent = b.spent.Add(u) }}
	return agenttest.Run(ctx, b.tool, call)
}

func TestSubagentModes(t *testing.T) {
	for _, c := range []struct{ name, args, want, err string }{
		{"single", `{"task":"hello"}`, "said: hello", ""},
		{"chain", `{"chain":[{"task":"a"},{"task":"{previous} b"}]}`, "said: said: a b", ""},
		{"chain stops", `{"chain":[{"task":"a"},{"task":"fail"},{"task":"never"}]}`,
			`"error":"step 2 of 3 (general) failed"`, ""},
		{"panic", `{"task":"panic"}`, "boom", ""},
		{"no mode", `{}`, "", "exactly one mode"},
		{"two modes", `{"task":"a","tasks":[{"task":"b"}]}`, "", "exactly one mode"},
		{"unknown agent", `{"agent":"poet","task":"a"}`, "", "the agents are general, reviewer"},
		{"too many", `{"tasks":[` + strings.Repeat(`{"task":"x"},`, 8) + `{"task":"x"}]}`, "",
			"at most 8"},
		{"bad model", `{"task":"a","model":"missing"}`, "there is no model missing", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := setup(Agent{Name: "reviewer", Description: "reviews"}).run(t.Context(), t,
				c.args)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || !strings.Contains(res.Text, c.want) {
				t.Fatalf("got %+v, %v; want %q", res, err, c.want)
			}
		})
	}
}

// At most four parallel tasks run at a time. Their results keep the order of the tasks, and a task
// that fails does not affect the others.
func TestSubagentParallel(t *testing.T) {
	b := setup()
	var nested atomic.Int32
	call := &tool.Call{ItemID: "i",
		Args: json.RawMessage(`{"tasks":[{"task":"1"},{"task":"fail 2"},{"task":"3"},` +
			`{"task":"4"},{"task":"5"},{"task":"6"},{"task":"7"},{"task":"8"}]}`),
		Nested: func(agent.Event) { nested.Add(1) }}
	res, err := agenttest.Run(t.Context(), b.tool, call)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Summary string
		Results []outcome
	}
	if err := json.Unmarshal([]byte(res.Text), &out); err != nil {
		t.Fatal(err)
	}
	if out.Summary != "7/8 succeeded" || out.Results[0].Output != "said: 1" ||
		out.Results[7].Output != "said: 8" || out.Results[1].Status != "failed" {
		t.Errorf("%+v", out)
	}
	if p := b.model.peak.Load(); p > Concurrency {
		t.Errorf("%d ran at once", p)
	}
	if nested.Load() == 0 {
		t.Error("no items were shown")
	}
}

func TestSubagentNestsAndAccounts(t *testing.T) {
	b := setup()
	if _, err := b.run(t.Context(), t, `{"task":"hello"}`); err != nil {
		t.Fatal(err)
	}
	if b.spent.Total != 2 {
		t.Errorf("spent %+v", b.spent)
	}
	if len(b.seen) != 2 { // one message for the task and one for the answer
		t.Errorf("items %+v", b.seen)
	}
}

func TestSubagentAbort(t *testing.T) {
	b := setup()
	done := make(chan *tool.Result, 1)
	ready := make(chan struct{}, 8)
	call := &tool.Call{ItemID: "item1", Args: json.RawMessage(`{"task":"wait"}`),
		Nested: func(agent.Event) { ready <- struct{}{} }}
	go func() {
		res, _ := agenttest.Run(t.Context(), b.tool, call)
		done <- res
	}()
	<-ready
	if !b.tool.Abort("item1", false) {
		t.Error("nothing to abort")
	}
	if res := <-done; !res.IsError || !strings.Contains(res.Text, "aborted") {
		t.Errorf("%+v", res)
	}
	if b.tool.Abort("item1", false) {
		t.Error("it still runs")
	}
}

// Aborting the call aborts all of its tasks. Tasks that have not started do not start.
func TestSubagentAbortEndsTasksThatWait(t *testing.T) {
	b := setup()
	var begun, waits atomic.Int32
	b.model.waits = func() { waits.Add(1) }
	child := b.tool.opts.Child
	b.tool.opts.Child = func(ctx context.Context, s Spawn) (agent.Options, error) {
		begun.Add(1)
		return child(ctx, s)
	}
	call := &tool.Call{ItemID: "item1",
		Args: json.RawMessage(`{"tasks":[{"task":"wait"},{"task":"wait"},{"task":"wait"},` +
			`{"task":"wait"},{"task":"5"},{"task":"6"}]}`)}
	var res *tool.Result
	synctest.Test(t, func(t *testing.T) {
		go func() { res, _ = agenttest.Run(t.Context(), b.tool, call) }()
		synctest.Wait()
		if n := waits.Load(); n != Concurrency {
			t.Errorf("%d wait", n)
		}
		b.tool.Abort("item1", false)
		synctest.Wait()
	})
	if n := begun.Load(); n != Concurrency {
		t.Errorf("%d began: %s", n, res.Text)
	}
	if strings.Count(res.Text, `"status":"aborted"`) != 6 || strings.Contains(res.Text, "said") {
		t.Error(res.Text)
	}
}

func TestSubagentEndsWithItsParent(t *testing.T) {
	b := setup()
	ctx, cancel := context.WithCancel(t.Context())
	call := &tool.Call{ItemID: "item1", Args: json.RawMessage(`{"task":"wait"}`),
		Nested: func(agent.Event) { cancel() }}
	res, err := agenttest.Run(ctx, b.tool, call)
	if err != nil || !res.IsError {
		t.Errorf("%+v, %v", res, err)
	}
}

// The tool's description does not depend on the order of the agents. The nesting depth is limited.
func TestSubagentDescriptionAndDepth(t *testing.T) {
	a, z := Agent{Name: "a", Description: "1"}, Agent{Name: "z", Description: "2"}
	if x, y := setup(a, z).tool.Spec(), setup(z, a).tool.Spec(); x.Description != y.Description {
		t.Error("the description depends on the order")
	}
	tool := setup().tool
	if tool.At(1, Limits{}, tool.opts.Agents) == nil ||
		tool.At(2, Limits{}, tool.opts.Agents) != nil {
		t.Error("the depth is not bounded at 2")
	}
}

func TestParseAgent(t *testing.T) {
	a, err := ParseAgent("file", []byte("---\r\nname: reviewer\r\ndescription: reads\r\ntools: read, grep\r\nmaxModelCalls: 5\r\n---\r\nBe strict.\r\n"))
	if err != nil || a.Name != "reviewer" || a.Prompt != "Be strict." || len(a.Tools) != 2 ||
		a.MaxCalls != 5 {
		t.Errorf("%+v, %v", a, err)
	}
	for _, bad := range []string{"no front matter", "---\nname: x\n---\n",
		"---\ndescription: [\n---\n"} {
		if _, err := ParseAgent("x", []byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
