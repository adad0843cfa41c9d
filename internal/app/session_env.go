package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/memory"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/subagent"
	"github.com/agent-lsp/agent-lsp/internal/tools"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// sessionParts contains the state that the daemon keeps for a session between its model calls.
type sessionParts struct {
	d        *daemon
	info     host.SessionInfo
	started  time.Time
	builtin  []tool.Tool
	remember []tool.Tool
	hooks    *externalHooks // a sub-agent uses its parent's hooks
	parentage

	mu       sync.Mutex
	release  func() // lets MCP servers start again; nil if this session does not hold them back
	budget   *tools.Budget
	registry *tool.Registry
	key      string             // the inputs from which the registry was built
	recalled map[string]bool    // memories that were sent to the model
	options  *agent.TurnOptions // options of the turn at the last model call

	// titleDue is set until the end of the session's first turn, after which the session gets a
	// title.
	titleDue atomic.Bool
	kept     keptTexts
}

// prepare creates the engine's options for a session.
func (d *daemon) prepare(ctx context.Context, info host.SessionInfo) (agent.Options, error) {
	CleanPath(d.rootPaths()...) // an ACP client names the folders with the session
	set := info.Config
	info.Config = func() config.Config { return inMode(set()) }
	p := d.parts(info, parentage{})
	p.titleDue.Store(info.Loaded == nil || len(info.Loaded.Messages) == 0)
	d.sessions.add(p)
	c := info.Config()
	d.notices.once(info, d.configurePolicy(info.ID, "", &c))
	d.mcp.later() // start the servers early, so that the first prompt has their tools
	if info.Loaded != nil {
		if err := d.workspace.LoadSession(ctx, info.ID); err != nil {
			info.Notice("warning", "pending proposals could not be read: "+err.Error())
		}
	}
	p.hooks = &externalHooks{d: d, info: info}
	return agent.Options{
		Environment: p, Approver: d.policy, Spill: d.folders.spillTo(info.ID, d.redact.Bytes),
		Locks: d.shared.locks, Starts: d.shared.starts,
		Bug: func(format string, args ...any) {
			d.log.Error("bug: " +
				fmt.Sprintf(format, args...))
		},
		QueueLimit: c.MaxQueue, Redact: d.redact.Text,
	}, nil
}

// parentage contains the values that a sub-agent's session gets from its parent. It is zero for a
// user's session.
type parentage struct {
	depth     int                    // 1 if a user's session called it
	caller    string                 // the session that called this one
	only      func(tool string) bool // nil means all of the parent's tools
	user      string                 // the user's session at the top of the chain of callers
	ownerTurn string                 // the turn of that session in which this session started
}

// owner returns the session that the client knows.
func (p *sessionParts) owner() string { return firstOf(p.user, p.info.ID) }

func (d *daemon) parts(info host.SessionInfo, parents parentage) *sessionParts {
	p := &sessionParts{d: d, info: info, started: time.Now(), parentage: parents,
		budget: tools.NewBudget(), recalled: map[string]bool{}}
	sess := tools.Session{
		ID: info.ID, Owner: parents.user, OwnerTurn: parents.ownerTurn, Catalog: p.catalog,
		Pending: p.pending, Missing: p.missing,
		Forked: func() []string { return d.forked(p.owner()) },
		Policy: func() workspace.Policy {
			c := info.Config()
			return workspace.Policy(c.EditPolicy)
		},
		Shell: func() tools.ShellOptions { c := info.Config(); return shellOptions(&c) },
		Fetch: func() tools.FetchOptions { c := info.Config(); return fetchOptions(&c) },
		WebSearch: func() tools.WebSearchOptions {
			c := info.Config()
			if c.WebSearch != nil {
				d.redact.Add(Lookup(d.processes.env, c.WebSearch.APIKeyEnv))
			}
			return webSearchOptions(&c,
				d.processes.env)
		},
	}
	language := d.language.tools(d.tools, sess)
	p.remember = memory.Tools(d.shared.memory)
	sess.More, sess.Servers = p.more(language), p.servers()
	p.builtin = append(d.tools.For(sess), language...)
	return p
}

// more returns the names of the tools that tool_search can find although the tool set does not
// create them.
func (p *sessionParts) more(language []tool.Tool) (names []string) {
	c := p.info.Config()
	list := slices.Clone(language)
	if sub := p.subagent(&c); sub != nil {
		list = append(list, sub)
	}
	if memoryOn(&c) {
		list = append(list, p.remember...)
	}
	for _, t := range p.enabled(list, &c) {
		names = append(names, t.Spec().Name)
	}
	return names
}

// servers returns the names of the MCP servers that the settings name when the session starts and
// that the session may use.
func (p *sessionParts) servers() (names []string) {
	c := p.info.Config()
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		if !c.MCPServers[name].Disabled && p.may(name) {
			names = append(names, name)
		}
	}
	return names
}

// closed is called when a session is no longer loaded. It ends a deleted session's jobs and removes
// the files that the session no longer needs.
func (d *daemon) closed(id string, deleted bool) {
	d.sessions.remove(id)
	d.policy.Forget(id)
	if deleted {
		d.shared.jobs.EndSession(id)
		_ = os.RemoveAll(d.folders.spill(id))
	}
	d.processes.runner.Forget(d.shared.scratch.Tmp(id))
	if !d.shared.jobs.Running(id) { // a running job keeps the folders until the daemon ends
		if err := d.shared.scratch.Drop(id); err != nil {
			d.log.Warn("removing the temporary files of a session", "error", err)
		}
	}
}

// ready returns an error if a turn cannot start in a session because the model has no provider that
// may be used. If model is "", it checks the model of the settings.
func (d *daemon) ready(sessionID, model string) error {
	p := d.sessions.get(sessionID)
	if p == nil {
		return nil // the session is being closed, which the engine itself reports
	}
	return p.ready(model)
}

func (p *sessionParts) ready(model string) error {
	p.d.notices.flush(p.info)
	p.holdServers()
	c := withOptions(p.info.Config(), &agent.TurnOptions{Model: model})
	e, err := p.d.providers.endpoint(context.Background(), &c)
	if err == nil && e.Probed {
		err = p.d.providers.local.ready(e)
	}
	if err != nil {
		p.letServers()
	}
	return err
}

// Next implements agent.Environment. A change to the settings takes effect at the next step. At the
// start of a turn of the user's session, Next first asks the user whether a wide folder may be the
// workspace, and whether to trust the workspace settings that need trust. It asks first so that
// hooks in those settings also run at the start. Before a model call, Next also asks about a local
// model server that the user did not choose.
func (p *sessionParts) Next(ctx context.Context, turn agent.TurnInfo) (agent.Step, error) {
	if turn.Begins && p.depth == 0 {
		p.d.askFolders(ctx, p.info)
	}
	set := p.d.settings.refresh()
	if turn.Begins && p.depth == 0 {
		set = p.d.settings.askTrust(ctx, set, p.d.policy, p.info.ID)
	}
	p.d.providers.catalog.follow(set.Config())
	c := withOptions(p.info.Config(), turn.Options)
	p.setOptions(turn.Options)
	var step agent.Step
	err := p.agree(ctx, turn.TurnID, &c)
	if err == nil {
		step, err = p.step(ctx, &c, set.Config())
	} else {
		p.letServers()
	}
	if p.depth == 0 {
		step.Hooks = append(step.Hooks, p)
	}
	step.Hooks = append(append(step.Hooks, p.hooks.now()...), p.attachments())
	if err == nil && turn.TurnID != "" {
		step.Messages = p.boundaryMessages(turn.Begins)
	}
	return step, err
}

// step creates the step for a session's settings. shared contains the settings without those of the
// session.
func (p *sessionParts) step(ctx context.Context, c, shared *config.Config) (agent.Step, error) {
	if p.depth > 0 {
		// The user has already seen the problems of the parent's settings.
		p.d.configurePolicy(p.info.ID, p.caller, c)
		return p.stepWith(ctx, c)
	}
	// Servers that are held back start later, after the model request.
	if p.d.mcp.changed(shared) && (!p.holding() || !p.d.mcp.due.Load()) {
		p.d.mcp.start()
	}
	p.d.cleanup.sweep(shared)
	p.d.notices.once(p.info, p.d.configurePolicy(p.info.ID, "", c))
	step, err := p.stepWith(ctx, c)
	step.Models = p.beforeServers(step.Models)
	return step, err
}

func (p *sessionParts) stepWith(ctx context.Context, c *config.Config) (agent.Step, error) {
	models, err := p.d.providers.chain(ctx, c)
	if err != nil {
		return agent.Step{}, err
	}
	reg, err := p.tools(c)
	if err != nil {
		return agent.Step{}, err
	}
	mode := modeOf(c)
	e := agent.Step{
		Models: models, Tools: reg, System: systemBlocks(c, p.info.Cwd, p.d.instructions(p.info),
			mode.Prompt, p.started),
		Sampling: sampling(c), Thinking: agent.Thinking{Level: c.Thinking,
			Budget: c.ThinkingBudgets[c.Thinking]},
		ToolChoice: c.ToolChoice, CacheKey: firstOf(c.CacheKey, p.info.ID), Retry: retryPolicy(c),
		Limits:       agent.Limits{MaxModelCalls: c.MaxModelCalls},
		SteeringMode: agent.QueueMode(c.SteeringMode),
		FollowUpMode: agent.QueueMode(c.FollowUpMode),
		ToolTimeout:  time.Duration(c.ToolTimeoutMs) * time.Millisecond, MaxResult: c.MaxToolResult,
		Repair: repairOptions(c, models[0].Info()), Context: contextConfig(c),
	}
	if c.Tools != nil {
		e.MaxParallel = c.Tools.MaxParallel
		e.EndsTurn = func(tool string) bool {
			return slices.ContainsFunc(c.Tools.StopAfter,
				func(p string) bool { return globMatch(p, tool) })
		}
	}
	if c.Context != nil && c.Context.Model != "" {
		if e.Context.Summary, err = p.d.providers.named(ctx, c, c.Context.Model); err != nil {
			return agent.Step{}, err
		}
	}
	if c.Budget != nil {
		e.Limits.Tokens, e.Limits.Cost = c.Budget.Tokens, c.Budget.Cost
	}
	return e, nil
}

// tools returns the session's registry. It creates the registry again only if its inputs changed.
func (p *sessionParts) tools(c *config.Config) (*tool.Registry, error) {
	list := append([]tool.Tool(nil), p.builtin...)
	if memoryOn(c) {
		list = append(list, p.remember...)
	} else {
		list = append(list, agent.RecallTool())
	}
	if inPlanMode(c) && p.depth == 0 && !p.d.plans.approved(p.info.ID, c.Mode) {
		list = append(list, &tools.PresentPlan{
			Approve: p.d.policy.ApprovePlan,
			Approved: func(session string) {
				p.d.plans.approve(session, p.info.Config().Mode)
			},
		})
	}
	list = append(list, p.mcpTools(c)...)
	sub := p.subagent(c)
	if sub != nil {
		list = append(list, sub)
	}
	key := p.registryKey(list, sub, c)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.registry != nil && p.key == key {
		return p.registry, nil
	}
	reg, err := tool.NewRegistry(p.enabled(list, c)...)
	if err != nil {
		p.d.notices.once(p.info, []string{err.Error()})
	}
	room := 0
	if c.Tools != nil {
		room = c.Tools.DeferBytes
	}
	p.budget.Apply(reg, room)
	p.registry, p.key = reg, key
	return reg, nil
}

// registryKey identifies a set of tools.
func (p *sessionParts) registryKey(list []tool.Tool, sub *subagent.Tool, c *config.Config) string {
	var key strings.Builder
	fmt.Fprint(&key, fingerprint(c.Tools), fingerprint(c.Fetch), c.WebSearch != nil, c.Mode,
		fingerprint(c.Modes[c.Mode].Tools))
	if sub != nil {
		fmt.Fprint(&key, sub.Spec().Description, sub.Limits()) // the set of agents can change
	}
	for _, t := range list[len(p.builtin):] { // the built-in tools are always the same
		s := t.Spec()
		key.WriteString("\x00" + s.Name)
		if strings.HasPrefix(s.Source, tools.SourceMCP) {
			fmt.Fprintf(&key, "%p", t) // a server may change the tool behind a name
		}
	}
	return key.String()
}

// enabled removes the tools that the settings, the mode or the sub-agent's definition disable.
func (p *sessionParts) enabled(list []tool.Tool, c *config.Config) []tool.Tool {
	mode := modeOf(c)
	out := list[:0:0]
	for _, t := range list {
		name := t.Spec().Name
		if name == "fetch" && !fetchOptions(c).Enabled || name == "web_search" &&
			(c.WebSearch == nil || c.WebSearch.URL == "") {
			continue
		}
		if (p.only == nil || p.only(name)) && allowedBy(c.Tools, name) &&
			allowedBy(&config.Tools{Enable: mode.Enable, Disable: mode.Disable}, name) {
			out = append(out, t)
		}
	}
	return out
}

// allowedBy reports whether a tool is enabled according to the lists of enabled and disabled tools
// in t.
func allowedBy(t *config.Tools, name string) bool {
	if t == nil {
		return true
	}
	for _, pattern := range t.Disable {
		if globMatch(pattern, name) {
			return false
		}
	}
	for _, pattern := range t.Enable {
		if globMatch(pattern, name) {
			return true
		}
	}
	return len(t.Enable) == 0
}

// boundaryMessages returns the messages that inform the model about the outcomes of its proposals,
// and about tools that it can load since its last call.
func (p *sessionParts) boundaryMessages(begins bool) []*message.Message {
	var out []*message.Message
	for _, text := range p.d.workspace.Outcomes(p.info.ID, begins && p.depth == 0) {
		m := message.NewText(message.RoleUser, text)
		m.Source, m.Hidden, m.Author = message.SourceOutcome, true, "user"
		out = append(out, m)
	}
	if text := p.budget.Announce(p.current()); text != "" {
		m := message.NewText(message.RoleUser, text)
		m.Source, m.Hidden, m.Author = message.SourceOutcome, true, "tools"
		out = append(out, m)
	}
	return out
}

// current returns the registry of the latest model call, or nil.
func (p *sessionParts) current() *tool.Registry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.registry
}
