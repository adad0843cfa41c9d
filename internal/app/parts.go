package app

import (
	"context"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/tools"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// secretsIn returns the values of the variables that ScrubEnv removes from an environment, except
// values of fewer than eight bytes. These values must never be shown.
func secretsIn(env []string) []string {
	kept := map[string]bool{}
	for _, kv := range policy.ScrubEnv(env) {
		kept[kv] = true
	}
	var out []string
	for _, kv := range env {
		if _, v, _ := strings.Cut(kv, "="); !kept[kv] && len(v) >= 8 {
			out = append(out, v)
		}
	}
	return out
}

// sandboxPlan returns the sandbox of one command.
func (d *daemon) sandboxPlan(call *tool.Call) (*sandbox.Plan, error) {
	tmp, layer, err := d.shared.scratch.Folders(call.SessionID)
	if err != nil {
		return nil, err
	}
	own := policy.Folders{Tmp: tmp, Layer: layer, Lock: d.shared.scratch.Lock()}
	return d.policy.SandboxPlan(call.SessionID, commandOf(call), own,
		policy.Granted{Outside: call.Unboxed, Secrets: call.Secrets, Proxy: d.proxyFor(call)})
}

func commandOf(call *tool.Call) string { return call.Text("command") }

// commandEnv returns the environment for one command. A command that only reads gets a home folder
// without the user's settings, because those settings can start programs. agent-lsp's own sandbox
// provides an empty home folder at the same path, so that package caches are found.
func (d *daemon) commandEnv(call *tool.Call) []string {
	e := d.processes.environment()
	if policy.Classify(commandOf(call)).Class > policy.ReadOnly {
		return e.Child()
	}
	if d.policy.Sandbox(call.SessionID, call.Unboxed).Kind == sandbox.Own {
		return e.Reading(Lookup(e.Own, "HOME"), "")
	}
	tmp, _, err := d.shared.scratch.Folders(call.SessionID)
	if err == nil {
		err = os.MkdirAll(tmp, 0o700)
	}
	if err != nil { // commands that need the folder will fail and report it
		d.log.Warn("creating the temporary folder of a session", "error", err)
	}
	return e.Reading(tmp, tmp)
}

// classify returns the effect of a command.
func classify(command string) tool.Effect {
	switch policy.Classify(command).Class {
	case policy.ReadOnly:
		return tool.ReadOnly
	case policy.Mutates:
		return tool.Mutates
	}
	return tool.Dangerous
}

func fetchOptions(c *config.Config) tools.FetchOptions {
	var o tools.FetchOptions
	if f := c.Fetch; f != nil {
		o = tools.FetchOptions{
			Enabled: f.Enabled != nil && *f.Enabled, Hosts: f.Hosts, MaxBytes: f.MaxBytes,
			Timeout: orDefault(f.TimeoutMs, 0),
		}
	}
	o.Network, _ = networkLists(c) // configurePolicy reports these errors
	return o
}

func shellOptions(c *config.Config) tools.ShellOptions {
	s := c.Shell
	if s == nil {
		return tools.ShellOptions{}
	}
	return tools.ShellOptions{Program: s.Program, Timeout: orDefault(s.TimeoutMs, 0),
		MaxTimeout: orDefault(s.MaxTimeoutMs, 0)}
}

// shellProgram returns the shell that the settings name, or "" for the system's shell.
func shellProgram(c *config.Config) string { return shellOptions(c).Program }

func webSearchOptions(c *config.Config, env []string) tools.WebSearchOptions {
	if c.WebSearch == nil {
		return tools.WebSearchOptions{}
	}
	o := tools.WebSearchOptions{Endpoint: c.WebSearch.URL,
		Headers: expandAll(c.WebSearch.Headers, env)}
	if key := Lookup(env, c.WebSearch.APIKeyEnv); c.WebSearch.APIKeyEnv != "" && key != "" {
		if o.Headers == nil {
			o.Headers = map[string]string{}
		}
		o.Headers["Authorization"] = "Bearer " + key
	}
	return o
}

// expandAll replaces ${NAME} in the values of a map.
func expandAll(m map[string]string, env []string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = config.Expand(v, config.Lookup(env))
	}
	return out
}

// withEnv adds variables to an environment and replaces existing ones. Each added name occurs once,
// because some programs use the first of two values and others the last.
func withEnv(env []string, own map[string]string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := own[name]
		return replaced
	})
	for _, name := range slices.Sorted(maps.Keys(own)) {
		out = append(out, name+"="+own[name])
	}
	return out
}

func orDefault(ms int, d time.Duration) time.Duration {
	if ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return d
}

// listTools lists the tools of a session with the current settings.
func (d *daemon) listTools(context.Context) ([]wire.Tool, error) {
	p := d.parts(infoForListing(d), parentage{})
	c := *d.settings.config()
	reg, err := p.tools(&c)
	if err != nil {
		return nil, err
	}
	out := []wire.Tool{}
	for _, name := range reg.Names() {
		t, _ := reg.Get(name)
		s := t.Spec()
		out = append(out, wire.Tool{Name: s.Name, Label: firstOf(s.Label, s.Name),
			Description: s.Description, Schema: s.Schema,
			Effect: string(s.Effect), Source: firstOf(s.Source, "builtin"), Deferred: s.Deferred})
	}
	return out, nil
}

func (d *daemon) searchFiles(ctx context.Context, query string,
	limit int) ([]wire.FileMatch, error) {
	out := []wire.FileMatch{}
	for _, m := range d.tools.FileSearch(ctx, query, limit) {
		out = append(out, wire.FileMatch{URI: firstOf(m.URI, workspace.URIOfPath(m.Path)),
			Score: float64(m.Score)})
	}
	return out, nil
}

// rootURIs returns the URIs of the workspace folders, for MCP servers.
func (d *daemon) rootURIs() []string {
	var out []string
	for _, p := range d.rootPaths() {
		out = append(out, workspace.URIOfPath(p))
	}
	return out
}

// osEnviron returns env, or the process's environment if env is nil.
func osEnviron(env []string) []string {
	if env == nil {
		return os.Environ()
	}
	return env
}

// globMatch is like path.Match, except that an invalid pattern matches nothing.
func globMatch(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
