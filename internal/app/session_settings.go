package app

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/config"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/near"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// configurePolicy sets a session's permissions from its settings, and returns the problems of those
// settings.
func (d *daemon) configurePolicy(id, parent string, c *config.Config) []string {
	s, faults := policySettings(c, d.rootPaths())
	s.Parent, s.Own = parent, d.ownFiles()
	approved := d.plans.approved(id, c.Mode) // in every mode, because it ends an earlier approval
	s.Plan = modeOf(c).Plan && !approved
	d.policy.Configure(id, s)
	return append(faults, unnamed(c)...)
}

// configured applies a session's changed permissions immediately, because background jobs and
// sub-agents work without a step of the session. The next step reports the problems.
func (d *daemon) configured(id string) {
	if p := d.sessions.get(id); p != nil {
		c := p.info.Config()
		d.configurePolicy(id, "", &c)
	}
}

// unnamed returns a problem if the settings name a mode that does not exist, and a problem for each
// agent without a name.
func unnamed(c *config.Config) (faults []string) {
	modes := slices.Sorted(maps.Keys(c.Modes))
	modes = append([]string{policy.DefaultMode.Name, policy.PlanMode.Name}, modes...)
	if c.Mode != "" && !slices.Contains(modes, c.Mode) {
		faults = append(faults, fmt.Sprintf("mode: %q is not one of %s%s; no mode is active",
			c.Mode, strings.Join(modes, ", "), near.Suggestion("", c.Mode, modes)))
	}
	for i, a := range c.Agents {
		if a.Name == "" {
			faults = append(faults, fmt.Sprintf("agents[%d]: has no name and is ignored", i))
		}
	}
	return faults
}

// policySettings reads the permissions from the settings. It skips rules and hosts that cannot be
// parsed and returns them as problems. A skipped entry may have been a restriction. If there is a
// problem, the profile therefore becomes ask, unless it is readOnly.
func policySettings(c *config.Config, roots []string) (s policy.Settings, faults []string) {
	s = policy.Settings{Sandbox: sandbox.Setting(c.Sandbox), Roots: roots, Writable: c.SandboxPaths,
		Unreadable: !shell.ShellReadable(shellProgram(c))}
	var unread []error
	s.Network, unread = networkLists(c)
	for _, err := range unread {
		faults = append(faults, err.Error())
	}
	if c.Permissions == nil {
		return s, faults
	}
	profile, err := policy.ParseProfile(c.Permissions.Profile)
	if err != nil {
		faults = append(faults, err.Error())
	}
	s.Profile = profile
	rules, wrong := policy.ParseRules("permissions.rules", c.Permissions.Rules)
	s.Rules = rules
	for _, err := range wrong {
		faults = append(faults, err.Error())
	}
	if len(faults) > 0 && s.Profile != policy.ProfileReadOnly {
		s.Profile = policy.ProfileAsk
	}
	return s, faults
}

// modeOf returns the mode that the settings name, or the default mode if there is no such mode.
func modeOf(c *config.Config) policy.Mode {
	switch c.Mode {
	case "", policy.DefaultMode.Name:
		return policy.DefaultMode
	case policy.PlanMode.Name:
		return policy.PlanMode
	}
	m, ok := c.Modes[c.Mode]
	if !ok {
		return policy.DefaultMode
	}
	out := policy.Mode{Name: c.Mode, Prompt: m.Instructions}
	if m.Tools != nil {
		out.Enable, out.Disable = m.Tools.Enable, m.Tools.Disable
	}
	return out
}

// inMode returns the settings with the settings of the named mode applied. The mode's single
// values, such as its model and its profile, take precedence. Its rules and its stopAfter list are
// added to the others.
func inMode(c config.Config) config.Config {
	m := c.Modes[c.Mode]
	c.Model, c.Thinking, c.EditPolicy = firstOf(m.Model, c.Model), firstOf(m.Thinking, c.Thinking),
		firstOf(m.EditPolicy, c.EditPolicy)
	if m.Permissions != nil {
		c.Permissions = withMore(c.Permissions, *m.Permissions)
	}
	if t := m.Tools; t != nil && c.Tools == nil {
		// modeOf returns the lists of enabled and disabled tools
		c.Tools = &config.Tools{DeferBytes: t.DeferBytes, StopAfter: t.StopAfter,
			MaxParallel: t.MaxParallel}
	} else if t != nil {
		own := *c.Tools
		own.DeferBytes, own.MaxParallel = cmp.Or(t.DeferBytes, own.DeferBytes),
			cmp.Or(t.MaxParallel, own.MaxParallel)
		own.StopAfter = slices.Concat(own.StopAfter, t.StopAfter)
		c.Tools = &own
	}
	return c
}

// withMore returns p with the rules of its second argument added, and with the profile of that
// argument if it has one.
func withMore(p *config.Permissions, more config.Permissions) *config.Permissions {
	var out config.Permissions
	if p != nil {
		out = *p
	}
	out.Profile, out.Rules = firstOf(more.Profile, out.Profile),
		slices.Concat(out.Rules, more.Rules)
	return &out
}

// rootPaths returns the folders in which the agent may work.
func (d *daemon) rootPaths() []string { return d.workspace.Roots("") }

func sampling(c *config.Config) agent.Sampling {
	if c.Sampling == nil {
		return agent.Sampling{}
	}
	return agent.Sampling(*c.Sampling)
}

// contextConfig returns the settings for reducing the history to fit into the window.
func contextConfig(c *config.Config) agent.ContextConfig {
	if c.Context == nil {
		return agent.ContextConfig{}
	}
	out := agent.ContextConfig{Window: c.Context.Window, Reserve: c.Context.Reserve,
		Trigger: c.Context.Trigger, Target: c.Context.Target,
		Recent: c.Context.Keep, Reducers: c.Context.Reducers}
	if len(out.Reducers) == 0 && c.Context.Strategy != "" {
		out.Reducers = []string{c.Context.Strategy}
	}
	return out
}

func retryPolicy(c *config.Config) retry.Policy {
	p := retry.Default()
	if c.Retry == nil {
		return p
	}
	if c.Retry.MaxRetries != nil {
		if p.MaxRetries = *c.Retry.MaxRetries; p.MaxRetries == 0 {
			p.MaxRetries = -1
		}
	}
	if ms := c.Retry.InitialDelayMs; ms > 0 {
		p.InitialDelay = time.Duration(ms) * time.Millisecond
	}
	if ms := c.Retry.MaxDelayMs; ms > 0 {
		p.MaxDelay = time.Duration(ms) * time.Millisecond
	}
	return p
}

// repairOptions selects the repairs and checks that apply to replies.
func repairOptions(c *config.Config, info agent.ModelInfo) repair.Options {
	o := repair.Default()
	o.FallbackParser = info.Tools != nil && !*info.Tools
	r := c.Repair
	if r == nil {
		return o
	}
	if r.Normalizer != nil {
		o.Normalizer = *r.Normalizer
	}
	if r.StripANSI != nil {
		o.StripANSI = *r.StripANSI
	}
	if r.Validator != nil {
		o = o.WithChecks(r.Validator)
	}
	switch r.FallbackParser {
	case "on":
		o.FallbackParser = true
	case "off":
		o.FallbackParser = false
	}
	return o
}
