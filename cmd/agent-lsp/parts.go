package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/hooks"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/settings"
	"github.com/agent-lsp/agent-lsp/internal/tools"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// secretsIn are the values of an environment that must never be seen.
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

// commandEnv is the environment of commands: the daemon's without secrets.
func (d *daemon) commandEnv(*agent.Call) []string { return d.scrubbed() }

// scrubbed is the environment for children, with what the settings pass on all the same.
func (d *daemon) scrubbed() []string {
	env := policy.ChildEnv(d.env)
	if s := d.config().Shell; s != nil {
		for _, name := range s.PassEnv {
			if v := lookup(d.env, name); v != "" {
				env = append(env, name+"="+v)
			}
		}
	}
	return env
}

// sandboxPlan is the wall around one command.
func (d *daemon) sandboxPlan(call *agent.Call) (*sandbox.Plan, error) {
	var args struct{ Command string }
	_ = json.Unmarshal(call.Args, &args)
	tmp := filepath.Join(d.stateDir, "tmp", strings.Map(fileRune, call.SessionID))
	return d.policy.SandboxPlan(call.SessionID, args.Command, tmp, call.Unboxed)
}

// classify says what a command may do.
func classify(command string) agent.Effect {
	switch policy.Classify(command).Class {
	case policy.ReadOnly:
		return agent.ReadOnly
	case policy.Mutates:
		return agent.Mutates
	}
	return agent.Dangerous
}

func fetchOptions(c *wire.Config) tools.FetchOptions {
	f := c.Fetch
	if f == nil {
		return tools.FetchOptions{}
	}
	return tools.FetchOptions{Enabled: f.Enabled != nil && *f.Enabled, Hosts: f.Hosts, MaxBytes: f.MaxBytes, Timeout: orDefault(f.TimeoutMs, 0)}
}

func shellOptions(c *wire.Config) tools.ShellOptions {
	s := c.Shell
	if s == nil {
		return tools.ShellOptions{}
	}
	return tools.ShellOptions{Program: s.Program, Timeout: orDefault(s.TimeoutMs, 0), MaxTimeout: orDefault(s.MaxTimeoutMs, 0)}
}

// shellProgram is the shell that the settings name, "" for the machine's.
func shellProgram(c *wire.Config) string { return shellOptions(c).Program }

func webSearchOptions(c *wire.Config, env []string) tools.WebSearchOptions {
	if c.WebSearch == nil {
		return tools.WebSearchOptions{}
	}
	o := tools.WebSearchOptions{Endpoint: c.WebSearch.URL, Headers: expandAll(c.WebSearch.Headers, env)}
	if key := lookup(env, c.WebSearch.APIKeyEnv); c.WebSearch.APIKeyEnv != "" && key != "" {
		if o.Headers == nil {
			o.Headers = map[string]string{}
		}
		o.Headers["Authorization"] = "Bearer " + key
	}
	return o
}

// expandAll replaces ${NAME} in values.
func expandAll(m map[string]string, env []string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = settings.Expand(v, settings.Lookup(env))
	}
	return out
}

// withEnv lays own variables over an environment. Each name stands once: of two, programs differ in which they read.
func withEnv(env []string, own map[string]string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := own[name]
		return replaced
	})
	for _, name := range sortedKeys(own) {
		out = append(out, name+"="+own[name])
	}
	return out
}

// hookConfigs are the external hooks of the settings.
func (d *daemon) hookConfigs(c *wire.Config) map[string][]hooks.Config {
	out := map[string][]hooks.Config{}
	for point, list := range c.Hooks {
		for _, h := range list {
			env := withEnv(d.scrubbed(), h.Env)
			out[point] = append(out[point], hooks.Config{Matcher: h.Matcher, Command: h.Command, Args: h.Args, Env: env, Dir: d.root,
				Timeout: time.Duration(h.TimeoutMs) * time.Millisecond})
		}
	}
	return out
}

// format formats a new text as the settings say for files of that name.
func (d *daemon) format(ctx context.Context, path string, text []byte) ([]byte, error) {
	f, ok := lookupGlob(d.config().Formatters, filepath.Base(path))
	if !ok {
		return text, nil
	}
	res, err := d.runner.Run(ctx, shell.Command{Argv: append([]string{f.Command}, f.Args...), Dir: filepath.Dir(path), Env: d.scrubbed(),
		Stdin: strings.NewReader(string(text)), Timeout: orDefault(f.TimeoutMs, 10*time.Second), HeadBytes: maxFormatted, SpillBytes: -1})
	if err != nil {
		return nil, err
	}
	if res.ExitCode != 0 || res.Truncated {
		return nil, fmt.Errorf("formatting with %s: exit code %d", f.Command, res.ExitCode)
	}
	return res.Head, nil
}

// maxFormatted bounds a text that is formatted.
const maxFormatted = 8 << 20

// check runs the command that the settings name for after an edit.
func (d *daemon) check(ctx context.Context, paths []string) (string, error) {
	c := d.config().Check
	if c == nil || c.Command == "" || !anyMatches(c.Files, paths) {
		return "", nil
	}
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
	}
	script := strings.ReplaceAll(c.Command, "${files}", strings.Join(quoted, " "))
	res, err := d.runner.Run(ctx, shell.Command{Script: script, Shell: shellProgram(d.config()), Dir: d.root, Env: d.scrubbed(), Timeout: orDefault(c.TimeoutMs, time.Minute), SpillBytes: -1})
	if err != nil {
		return "", err
	}
	out := strings.TrimSpace(string(res.Head) + string(res.Tail))
	if res.ExitCode == 0 {
		return "", nil
	}
	return fmt.Sprintf("check `%s` failed (exit code %d):\n%s", c.Command, res.ExitCode, out), nil
}

func anyMatches(globs, paths []string) bool {
	for _, g := range globs {
		for _, p := range paths {
			if globMatch(g, filepath.Base(p)) {
				return true
			}
		}
	}
	return len(globs) == 0
}

func orDefault(ms int, d time.Duration) time.Duration {
	if ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return d
}

// listTools lists the tools of a session with the settings in force.
func (d *daemon) listTools(context.Context) ([]wire.Tool, error) {
	p := d.parts(infoForListing(d), parentage{})
	c := *d.config()
	reg, err := p.tools(&c)
	if err != nil {
		return nil, err
	}
	out := []wire.Tool{}
	for _, name := range reg.Names() {
		t, _ := reg.Get(name)
		s := t.Spec()
		out = append(out, wire.Tool{Name: s.Name, Label: firstOf(s.Label, s.Name), Description: s.Description, Schema: s.Schema,
			Effect: string(s.Effect), Source: firstOf(s.Source, "builtin"), Deferred: s.Deferred})
	}
	return out, nil
}

func (d *daemon) searchFiles(ctx context.Context, query string, limit int) ([]wire.FileMatch, error) {
	out := []wire.FileMatch{}
	for _, m := range d.tools.FileSearch(ctx, query, limit) {
		out = append(out, wire.FileMatch{URI: firstOf(m.URI, workspace.URIOfPath(m.Path)), Score: float64(m.Score)})
	}
	return out, nil
}

// rootURIs are the workspace folders, for MCP servers.
func (d *daemon) rootURIs() []string {
	var out []string
	for _, p := range d.rootPaths() {
		out = append(out, workspace.URIOfPath(p))
	}
	return out
}

// anySession is a session to show a question in that belongs to none.
func (d *daemon) anySession() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range d.sessions {
		if !strings.Contains(id, "/") {
			return id
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// osEnviron is the process's environment where a program was given none.
func osEnviron(env []string) []string {
	if env == nil {
		return os.Environ()
	}
	return env
}

// globMatch is path.Match, a bad pattern matching nothing.
func globMatch(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
