package app

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/subagent"
)

// childIDs numbers the sessions of sub-agents, which are not stored.
var childIDs atomic.Int64

func (d *daemon) newSubagents() *subagent.Tool {
	return subagent.New(subagent.Options{Child: d.childOptions, Background: d.jobsOf(),
		Ended: func(id string) { d.closed(id, false) }})
}

// subagent returns the tool that a session uses to call sub-agents, or nil if it may not call any.
func (p *sessionParts) subagent(c *config.Config) *subagent.Tool {
	var l subagent.Limits
	if s := c.Subagents; s != nil {
		l = subagent.Limits{MaxTasks: s.MaxTasks, Concurrency: s.Concurrency, MaxDepth: s.MaxDepth}
	}
	return p.d.shared.subagents.At(p.depth, l,
		func() []subagent.Agent { return p.d.agentList(p.info, c) })
}

// agentList returns the agents in a session's settings and in the Markdown files of the workspace
// and the user. Agents in the settings take precedence.
func (d *daemon) agentList(info host.SessionInfo, c *config.Config) []subagent.Agent {
	byName := map[string]subagent.Agent{}
	for _, a := range d.fileAgents(info, c.MaxModelCalls) {
		byName[strings.ToLower(a.Name)] = a
	}
	for _, a := range c.Agents {
		if a.Name == "" {
			continue // the user has already been notified
		}
		def := subagent.Agent{Name: a.Name, Description: a.Description, Prompt: a.Prompt,
			Model: a.Model, Thinking: a.Thinking, Tools: a.Tools, MaxCalls: a.MaxModelCalls}
		if a.Permissions != nil {
			def.Profile, def.Rules = a.Permissions.Profile, a.Permissions.Rules
		}
		byName[strings.ToLower(a.Name)] = def
	}
	out := make([]subagent.Agent, 0, len(byName))
	for _, a := range byName {
		out = append(out, a)
	}
	return out
}

// childOptions derives a sub-agent's session from its parent's session. The sub-agent uses the same
// model unless another one is named. It has no tools that the parent lacks, and the parent's policy
// limits its policy.
func (d *daemon) childOptions(_ context.Context, s subagent.Spawn) (agent.Options, error) {
	parent := d.sessions.get(s.Parent)
	if parent == nil {
		return agent.Options{}, fmt.Errorf("the session that called the sub-agent is closed")
	}
	id := fmt.Sprintf("%s/%s-%d", s.Parent, s.Agent.Name, childIDs.Add(1))
	options := parent.turnOptions()
	info := host.SessionInfo{ID: id, Cwd: s.Cwd, Notice: parent.info.Notice,
		Notify: parent.info.Notify,
		Config: func() config.Config {
			return childConfig(withOptions(parent.info.Config(), options), s)
		}}
	p := d.parts(info, parentage{s.Depth, s.Parent, narrowed(parent.only, s.Agent.Tools),
		parent.owner(), firstOf(parent.ownerTurn, s.TurnID)})
	p.hooks = parent.hooks
	d.sessions.add(p)
	o := agent.Options{ID: id, Cwd: s.Cwd, Parent: s.Parent, Environment: p, Approver: d.policy,
		Spill: d.folders.spillTo(parent.owner(), d.redact.Bytes), Locks: d.shared.locks,
		Starts: d.shared.starts}
	if wrap := d.shared.wrapChild; wrap != nil {
		o = wrap(o, s)
	}
	return o, nil
}

// narrowed returns a filter that accepts the names that both the parent's filter and the agent's
// list of tools accept. A nil filter, or an empty list, accepts every name.
func narrowed(parent func(string) bool, list []string) func(string) bool {
	if len(list) == 0 {
		return parent
	}
	return func(name string) bool {
		return (parent == nil || parent(name)) && allowedBy(&config.Tools{Enable: list}, name)
	}
}

// childConfig returns the parent's configuration with the agent's changes.
func childConfig(c config.Config, s subagent.Spawn) config.Config {
	if m := firstOf(s.Model, s.Agent.Model); m != "" {
		c.Model = m
	}
	if s.Agent.Thinking != "" {
		c.Thinking = s.Agent.Thinking
	}
	if s.Agent.MaxCalls != 0 {
		c.MaxModelCalls = s.Agent.MaxCalls
	}
	// The agent's allow rules take effect only where the parent's rules allow the same.
	if s.Agent.Profile != "" || len(s.Agent.Rules) > 0 {
		c.Permissions = withMore(c.Permissions,
			config.Permissions{Profile: s.Agent.Profile, Rules: s.Agent.Rules})
	}
	c.Instructions = strings.TrimSpace(c.Instructions + "\n\n" + s.Agent.Prompt)
	return c
}
