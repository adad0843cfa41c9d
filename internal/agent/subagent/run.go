package subagent

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// closeTimeout limits how long closing a sub-agent's session may take.
const closeTimeout = 5 * time.Second

// child is one sub-agent with its task.
type child struct {
	tool  *Tool
	spawn Spawn
	task  string
}

// outcome is the result of a sub-agent.
type outcome struct {
	Agent  string `json:"agent"`
	Status string `json:"status"` // completed, failed, aborted
	Output string `json:"output"`
	calls  agent.Turn
}

func (o *outcome) ok() bool { return o.Status == "completed" }

// run runs the sub-agent until it ends. Every error, including a panic, becomes an outcome.
func (c *child) run(ctx context.Context, call *tool.Call, task string) (out outcome) {
	out = outcome{Agent: c.spawn.Agent.Name, Status: "failed"}
	defer func() {
		if r := recover(); r != nil {
			out.Output = fmt.Sprintf("the sub-agent panicked: %v\n%s", r,
				firstLines(string(debug.Stack()), 5))
		}
	}()
	// The call may have been aborted while this task was waiting.
	if ctx.Err() != nil || c.tool.running.stopped(call.ItemID) {
		out.Status = "aborted"
		return withError(out, agent.Turn{})
	}
	opts, err := c.tool.opts.Child(ctx, c.spawn)
	if err != nil {
		out.Output = err.Error()
		return out
	}
	opts.Sink = agent.SinkFunc(func(_ string, e agent.Event) { c.forward(call, e) })
	s := agent.NewSession(opts)
	defer func() {
		// The end of the parent must not interrupt closing the child.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = s.Close(end)
		if c.tool.opts.Ended != nil {
			c.tool.opts.Ended(opts.ID)
		}
	}()
	defer c.tool.running.add(call.ItemID, s)()
	return c.converse(ctx, call, s, task, out)
}

// converse sends the task and waits for the answer.
func (c *child) converse(ctx context.Context, call *tool.Call, s *agent.Session, task string,
	out outcome) outcome {
	acc, err := s.Prompt(agent.Prompt{Content: []message.Block{{Type: message.Text, Text: task}},
		Author: "agent"})
	if err != nil {
		out.Output = err.Error()
		return out
	}
	turn, err := s.Wait(ctx, acc.TurnID, "")
	if err != nil {
		_, _ = s.Abort(agent.AbortRequest{})
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		turn, _ = s.Wait(end, acc.TurnID, "")
		out.Status = "aborted"
	}
	out.calls = turn
	if call.Spent != nil {
		call.Spent(turn.Usage)
	}
	out.Output = lastText(s.Messages())
	switch {
	case turn.Status == "completed" && err == nil:
		out.Status = "completed"
	case turn.Status == "aborted":
		out.Status = "aborted"
	}
	return withError(out, turn)
}

// withError adds the reason why a sub-agent did not complete to the sub-agent's text.
func withError(out outcome, turn agent.Turn) outcome {
	if !out.ok() {
		why := "ended as " + out.Status
		if turn.Error != nil {
			why = turn.Error.Message
		}
		out.Output = strings.TrimSpace(out.Output + "\n[" + why + "]")
	}
	if out.Output == "" {
		out.Output = noOutput
	}
	out.Output = clip(out.Output)
	return out
}

// forward shows the child's items below the call. In a background job, it prints the child's
// completed calls as progress instead.
func (c *child) forward(call *tool.Call, e agent.Event) {
	if call.Nested != nil {
		call.Nested(e)
		return
	}
	if done, ok := e.(agent.ItemCompleted); ok && done.Item.Call != nil {
		call.Emit(fmt.Sprintf("[%s] %s %s\n", c.spawn.Agent.Name, done.Item.Call.Label,
			done.Item.Status))
	}
}

// lastText returns the last text of the agent.
func lastText(msgs []*message.Message) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == message.RoleAssistant && msgs[i].Stop != message.StopAborted {
			if text := strings.TrimSpace(msgs[i].TextContent()); text != "" {
				return text
			}
		}
	}
	return ""
}

func clip(s string) string {
	if len(s) <= maxOutput {
		return s
	}
	half := maxOutput / 2
	return strings.ToValidUTF8(s[:half], "") +
		fmt.Sprintf("\n[… %d bytes omitted …]\n", len(s)-2*half) +
		strings.ToValidUTF8(s[len(s)-half:], "")
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

func (t *Tool) single(ctx context.Context, call *tool.Call, c *child) *tool.Result {
	o := c.run(ctx, call, c.task)
	return &tool.Result{Text: o.Output, IsError: !o.ok(), Details: details([]outcome{o})}
}

// parallel runs the children, Options.Concurrency at a time, and reports in the order of the tasks.
func (t *Tool) parallel(ctx context.Context, call *tool.Call, runs []*child) *tool.Result {
	out := make([]outcome, len(runs))
	var g errgroup.Group
	g.SetLimit(t.opts.Concurrency)
	for i, c := range runs {
		g.Go(func() error {
			out[i] = c.run(ctx, call, c.task)
			return nil
		})
	}
	_ = g.Wait()
	good := 0
	for i := range out {
		if out[i].ok() {
			good++
		}
	}
	text, err := json.Marshal(map[string]any{"summary": fmt.Sprintf("%d/%d succeeded", good,
		len(out)), "results": out})
	if err != nil {
		text = []byte(err.Error())
	}
	return &tool.Result{Text: string(text), IsError: good == 0, Details: details(out)}
}

// chain runs the children one after another and stops at the first failure.
func (t *Tool) chain(ctx context.Context, call *tool.Call, runs []*child) *tool.Result {
	var out []outcome
	previous := ""
	for i, c := range runs {
		o := c.run(ctx, call, strings.ReplaceAll(c.task, "{previous}", previous))
		out = append(out, o)
		if !o.ok() {
			text, _ := json.Marshal(map[string]any{"error": fmt.Sprintf("step %d of %d (%s) failed",
				i+1, len(runs), o.Agent), "results": out})
			return &tool.Result{Text: string(text), IsError: true, Details: details(out)}
		}
		previous = o.Output
	}
	return &tool.Result{Text: previous, Details: details(out)}
}

// details returns details about the work for clients.
func details(out []outcome) json.RawMessage {
	type line struct {
		Agent  string        `json:"agent"`
		Status string        `json:"status"`
		Turns  int           `json:"modelCalls"`
		Tools  int           `json:"toolCalls"`
		Usage  message.Usage `json:"usage"`
	}
	lines := make([]line, len(out))
	for i, o := range out {
		lines[i] = line{o.Agent, o.Status, o.calls.ModelCalls, o.calls.ToolCalls, o.calls.Usage}
	}
	b, err := json.Marshal(map[string]any{"agents": lines})
	if err != nil {
		return nil
	}
	return b
}

// abortable wraps a job so that aborting its call ends the job. Tasks that have not begun then do
// not start.
func (t *Tool) abortable(do job) job {
	return func(ctx context.Context, call *tool.Call) *tool.Result {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer t.running.begin(call.ItemID, cancel)()
		return do(ctx, call)
	}
}

// running tracks the running calls and their sub-agents, by the item of the call.
type running struct {
	mu       sync.Mutex
	calls    map[string]*work
	children map[string][]*agent.Session
}

// work is a running call.
type work struct {
	cancel  context.CancelFunc
	stopped bool // no further task may begin
}

func newRunning() *running {
	return &running{calls: map[string]*work{}, children: map[string][]*agent.Session{}}
}

func (r *running) begin(itemID string, cancel context.CancelFunc) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[itemID] = &work{cancel: cancel}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, itemID)
	}
}

// stop prevents further tasks of a call from starting. It returns the sub-agents that are running
// for the call, and a function that ends the call's work. The function is nil if the call is not
// running.
func (r *running) stop(itemID string) (list []*agent.Session, end context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.calls[itemID]; w != nil {
		w.stopped, end = true, w.cancel
	}
	return append([]*agent.Session(nil), r.children[itemID]...), end
}

func (r *running) stopped(itemID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.calls[itemID]
	return w != nil && w.stopped
}

func (r *running) add(itemID string, s *agent.Session) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.children[itemID] = append(r.children[itemID], s)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		list := r.children[itemID]
		for i, c := range list {
			if c == s {
				list = append(list[:i:i], list[i+1:]...)
				break
			}
		}
		if r.children[itemID] = list; len(list) == 0 {
			delete(r.children, itemID)
		}
	}
}

func (r *running) of(itemID string) []*agent.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*agent.Session(nil), r.children[itemID]...)
}

// Steer steers the sub-agents that are running below an item. ok is false if there are none.
func (t *Tool) Steer(itemID string,
	req agent.SteerRequest) (out agent.SteerOutcome, ok bool, err error) {
	list := t.running.of(itemID)
	for _, s := range list {
		if out, err = s.Steer(req); err != nil {
			return out, true, err
		}
	}
	return out, len(list) > 0, nil
}

// Abort ends the work of a call, starting with the sub-agents that are running below its item. ok
// is false if no such call is running.
func (t *Tool) Abort(itemID string, silent bool) (ok bool) {
	list, end := t.running.stop(itemID)
	for _, s := range list { // stop keeps the next task from starting when s ends
		_, _ = s.Abort(agent.AbortRequest{Silent: silent})
	}
	if end == nil {
		return false
	}
	end()
	return true
}
