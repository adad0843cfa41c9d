package subagent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Limits and defaults.
const (
	// MaxTasks is the maximum number of tasks in one parallel call, and of steps in a chain.
	MaxTasks = 8
	// Concurrency is the number of tasks of one call that run concurrently.
	Concurrency = 4
	// MaxDepth is the maximum nesting depth of sub-agents. 1 means that they may not call any.
	MaxDepth = 2
	// maxOutput is the maximum size, in bytes, of one sub-agent's answer that is returned to the
	// model.
	maxOutput = 40 << 10
	// noOutput is returned for an answer without text.
	noOutput = "(no output)"
)

// Agent is a configured sub-agent.
type Agent struct {
	Name        string
	Description string // description for the model that calls the agent
	Prompt      string // its instructions
	Model       string // "" means the parent's model
	Thinking    string
	Tools       []string // names or globs; nil means the parent's tools
	Profile     string   // permission profile, at most the parent's
	// Rules are additional permission rules. A call must be allowed by these rules and by the
	// parent's.
	Rules    []string
	MaxCalls int // maximum number of model calls; 0 means the parent's limit
}

// General is the agent that is available even if the settings define no agents.
var General = Agent{Name: "general",
	Description: "does any task with your tools, in its own context"}

// Spawn is a request for the options of a sub-agent's session.
type Spawn struct {
	Agent  Agent
	Model  string // the model chosen in the call; "" means the agent's model
	Parent string // session ID
	TurnID string // the call's turn
	ItemID string // the item of the call
	Depth  int    // 1 for a sub-agent of the user's session
	Cwd    string
}

// Background runs work that continues after its turn. It stores the output of the work, and
// notifies the session when the work ends. It also ends the work when the session is deleted or the
// daemon ends.
type Background interface {
	Start(sessionID, title string,
		work func(ctx context.Context, out io.Writer) (summary string, err error)) (jobID,
		outputFile string, err error)
}

// Options contains the functions and services that the tool needs.
type Options struct {
	// Agents lists the configured agents. General is added if no agent has its name.
	Agents func() []Agent
	// Child derives a session's options from the parent's options. The tool sets Sink. If the depth
	// allows it, the tools of the child include a Tool for the next depth (see At).
	Child func(ctx context.Context, s Spawn) (agent.Options, error)
	// Ended is called with the ID of a sub-agent's session that has ended. It may be nil.
	Ended func(id string)
	// Background is nil if background runs are not available.
	Background Background

	Limits
}

// Limits bound the tool. 0 means the default.
type Limits struct{ MaxTasks, Concurrency, MaxDepth int }

func (l Limits) orDefaults() Limits {
	for _, n := range []struct {
		value *int
		def   int
	}{{&l.MaxTasks, MaxTasks}, {&l.Concurrency, Concurrency}, {&l.MaxDepth, MaxDepth}} {
		if *n.value <= 0 {
			*n.value = n.def
		}
	}
	return l
}

// Tool is the sub-agent tool at one depth. It knows the agents that existed when it was created.
type Tool struct {
	opts    Options
	depth   int
	agents  []Agent // by name
	running *running
}

var _ tool.Tool = (*Tool)(nil)

// New returns the tool for the user's sessions.
func New(o Options) *Tool {
	o.Limits = o.Limits.orDefaults()
	t := &Tool{opts: o, running: newRunning()}
	t.agents = t.known()
	return t
}

// At returns the tool for a session at the given depth, with its own limits and agents. It returns
// nil if the session may not call sub-agents.
func (t *Tool) At(depth int, l Limits, agents func() []Agent) *Tool {
	l = l.orDefaults()
	if depth >= l.MaxDepth {
		return nil
	}
	at := &Tool{opts: t.opts, depth: depth, running: t.running}
	at.opts.Limits, at.opts.Agents = l, agents
	at.agents = at.known()
	return at
}

// Limits returns the effective limits.
func (t *Tool) Limits() Limits { return t.opts.Limits }

// known returns the agents sorted by name, so that the description is always the same.
func (t *Tool) known() []Agent {
	var list []Agent
	if t.opts.Agents != nil {
		list = append(list, t.opts.Agents()...)
	}
	if _, ok := byName(list, General.Name); !ok {
		list = append(list, General)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

func byName(list []Agent, name string) (Agent, bool) {
	for _, a := range list {
		if strings.EqualFold(a.Name, name) {
			return a, true
		}
	}
	return Agent{}, false
}

// Spec describes the tool and the available agents.
func (t *Tool) Spec() tool.Spec {
	var b strings.Builder
	b.WriteString("Delegate work to a sub-agent. It sees only the task, so include everything that it needs. " +
		"Send exactly one of task, tasks (run in parallel) or chain (run in order; {previous} is replaced by the previous answer). " +
		"With background, the call returns immediately, and a message reports the end.\nAgents:")
	for _, a := range t.agents {
		fmt.Fprintf(&b, "\n- %s: %s", a.Name, a.Description)
	}
	return tool.Spec{
		Name: "agent", Aliases: []string{"subagent", "task"}, Label: "Sub-agent",
		Description: b.String(), Schema: schema,
		Effect: tool.Mutates, Bounded: true, Source: "builtin", Deferred: true, MaxResult: -1,
	}
}

// schema never changes, so that the provider's prompt cache stays valid.
var schema = json.RawMessage(`{"type":"object","properties":{` +
	`"agent":{"type":"string","description":"name; default general"},` +
	`"task":{"type":"string"},` +
	`"tasks":{"type":"array","items":{"type":"object","properties":{"agent":{"type":"string"},` +
	`"task":{"type":"string"},"model":{"type":"string"}},"required":["task"]}},` +
	`"chain":{"type":"array","items":{"type":"object","properties":{"agent":{"type":"string"},` +
	`"task":{"type":"string"},"model":{"type":"string"}},"required":["task"]}},` +
	`"background":{"type":"boolean"},"description":{"type":"string","description":"a few words ` +
	`for the screen"},` +
	`"model":{"type":"string"}},"additionalProperties":false}`)

// step is one task for one agent.
type step struct {
	Agent string `json:"agent"`
	Task  string `json:"task"`
	Model string `json:"model"`
}

type arguments struct {
	step
	Tasks       []step `json:"tasks"`
	Chain       []step `json:"chain"`
	Background  bool   `json:"background"`
	Description string `json:"description"`
}

// label describes the delegated task.
func (a arguments) label() string {
	what := a.Description
	if what == "" {
		what = firstWords(a.Task)
	}
	switch {
	case len(a.Tasks) > 0:
		return fmt.Sprintf("%d sub-agents: %s", len(a.Tasks), what)
	case len(a.Chain) > 0:
		return fmt.Sprintf("Chain of %d sub-agents: %s", len(a.Chain), what)
	}
	return "Sub-agent: " + what
}

func firstWords(s string) string {
	f := strings.Fields(s)
	if len(f) > 10 {
		return strings.Join(f[:10], " ") + " …"
	}
	return strings.Join(f, " ")
}

// Prepare decodes the arguments.
func (t *Tool) Prepare(_ context.Context, call *tool.Call) (*tool.Prepared, error) {
	var a arguments
	if err := call.Decode(&a); err != nil {
		return nil, err
	}
	return &tool.Prepared{
		Label: a.label(),
		Run: func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
			return t.run(ctx, call, a)
		},
	}, nil
}

// run performs the delegated work.
func (t *Tool) run(ctx context.Context, call *tool.Call, a arguments) (*tool.Result, error) {
	job, err := t.plan(a, call)
	if err != nil {
		return nil, err
	}
	job = t.abortable(job)
	if !a.Background {
		return job(ctx, call), nil
	}
	return t.background(a, call, job)
}

// job is planned work. It reports through the call that it receives.
type job func(ctx context.Context, call *tool.Call) *tool.Result

// plan checks the arguments and returns the work.
func (t *Tool) plan(a arguments, call *tool.Call) (job, error) {
	modes := 0
	for _, on := range []bool{a.Task != "", len(a.Tasks) > 0, len(a.Chain) > 0} {
		if on {
			modes++
		}
	}
	if modes != 1 {
		return nil, fmt.Errorf("provide exactly one mode: task, tasks or chain")
	}
	if n := max(len(a.Tasks), len(a.Chain)); n > t.opts.MaxTasks {
		return nil, fmt.Errorf("%d tasks are too many; at most %d are allowed in one call", n, t.opts.MaxTasks)
	}
	steps := append(append([]step{}, a.Tasks...), a.Chain...)
	if a.Task != "" {
		steps = []step{a.step}
	}
	runs := make([]*child, len(steps))
	for i, s := range steps {
		if s.Agent == "" {
			s.Agent = a.Agent
		}
		if s.Model == "" {
			s.Model = a.Model
		}
		c, err := t.child(s, call)
		if err != nil {
			return nil, err
		}
		runs[i] = c
	}
	switch {
	case len(a.Tasks) > 0:
		return func(ctx context.Context, call *tool.Call) *tool.Result {
			return t.parallel(ctx,
				call, runs)
		}, nil
	case len(a.Chain) > 0:
		return func(ctx context.Context, call *tool.Call) *tool.Result {
			return t.chain(ctx, call,
				runs)
		}, nil
	}
	return func(ctx context.Context, call *tool.Call) *tool.Result {
		return t.single(ctx, call,
			runs[0])
	}, nil
}

// child finds a step's agent.
func (t *Tool) child(s step, call *tool.Call) (*child, error) {
	name := s.Agent
	if name == "" {
		name = General.Name
	}
	def, ok := byName(t.agents, name)
	if !ok {
		var names []string
		for _, a := range t.agents {
			names = append(names, a.Name)
		}
		return nil, fmt.Errorf("there is no agent %q; the agents are %s", name,
			strings.Join(names, ", "))
	}
	if strings.TrimSpace(s.Task) == "" {
		return nil, fmt.Errorf("the task for %s is empty", def.Name)
	}
	return &child{tool: t, task: s.Task, spawn: Spawn{
		Agent: def, Model: s.Model, Parent: call.SessionID, TurnID: call.TurnID,
		ItemID: call.ItemID, Depth: t.depth + 1, Cwd: call.Cwd}}, nil
}

// background passes the work to Options.Background. The items of background work are not shown,
// because the turn may have ended.
func (t *Tool) background(a arguments, call *tool.Call, work job) (*tool.Result, error) {
	if t.opts.Background == nil {
		return nil, fmt.Errorf("background is not available here; run the task without it")
	}
	if t.depth > 0 {
		return nil, fmt.Errorf("a sub-agent cannot start a background sub-agent, which would outlive it; run the task without background")
	}
	id, file, err := t.opts.Background.Start(call.SessionID, a.label(),
		func(ctx context.Context, out io.Writer) (string, error) {
			quiet := &tool.Call{ID: call.ID, ItemID: call.ItemID, SessionID: call.SessionID,
				TurnID: call.TurnID, Name: call.Name, Cwd: call.Cwd,
				Spent: call.Spent, Output: func(s string) { _, _ = io.WriteString(out, s) }}
			res := work(ctx, quiet)
			if res.IsError {
				return "", fmt.Errorf("%s", res.Text)
			}
			return res.Text, nil
		})
	if err != nil {
		return nil, err
	}
	text, _ := json.Marshal(map[string]string{"task_id": id, "status": "running",
		"output_file": file})
	return &tool.Result{Text: string(text)}, nil
}
