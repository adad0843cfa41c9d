package main

import (
	"context"
	"net/http/httptrace"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp"
)

// serversLater makes startMCP run once nobody is in a hurry: a session's first prompt comes with it, and its request goes
// before anything that has to do with servers.
func (d *daemon) serversLater() {
	if !d.mcpDue.Swap(true) {
		d.mcp.Later(d.startMCP)
	}
}

// startMCP makes the running MCP servers those of the settings and of the sessions that are loaded. They start in the
// background. Where two sessions name different servers alike, the newer session's runs.
func (d *daemon) startMCP() {
	d.mcpDue.Store(false) // a session that comes from here on asks again
	d.serving.Lock()
	defer d.serving.Unlock()
	lists := []map[string]wire.MCP{d.config().MCPServers}
	for _, p := range d.userSessions() {
		c := p.info.Config()
		lists = append(lists, c.MCPServers)
	}
	if slices.EqualFunc(lists, d.mcpLists, sameMap) {
		return
	}
	d.mcpLists = lists
	defs := map[string]wire.MCP{}
	for _, list := range lists {
		for name, s := range list {
			if !s.Disabled {
				defs[name] = s
			}
		}
	}
	d.mu.Lock()
	same := reflect.DeepEqual(d.mcpDefs, defs)
	d.mcpDefs = defs
	d.mu.Unlock()
	if same {
		return
	}
	var configs []mcp.Config
	for _, name := range sortedKeys(defs) {
		configs = append(configs, d.mcpConfig(name, defs[name]))
	}
	d.mcp.Configure(configs)
}

// sameMap says whether two maps are one: settings are made anew where they change, never changed.
func sameMap(a, b map[string]wire.MCP) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// serversChanged says whether a session's settings name other MCP servers than at its last model call. Nothing else
// changes them but a session that comes or goes, so that most model calls need not look at all sessions'.
func (p *sessionParts) serversChanged(c *wire.Config) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := sameMap(p.wanted, c.MCPServers)
	p.wanted = c.MCPServers
	return !same
}

// userSessions are the loaded sessions that are no sub-agents', the oldest first.
func (d *daemon) userSessions() (out []*sessionParts) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.sessions {
		if p.user == "" {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *sessionParts) int { return a.started.Compare(b.started) })
	return out
}

func (d *daemon) mcpConfig(name string, s wire.MCP) mcp.Config {
	env := withEnv(policy.ChildEnv(d.env), expandAll(s.Env, d.env))
	dir := s.Cwd
	if dir == "" || !filepath.IsAbs(dir) {
		dir = filepath.Join(firstOf(d.root, "."), dir)
	}
	out := mcp.Config{Name: name, Command: s.Command, Args: s.Args, Env: env, Dir: dir, URL: s.URL, Headers: expandAll(s.Headers, d.env),
		Timeout: time.Duration(s.TimeoutMs) * time.Millisecond}
	switch s.Type {
	case "": // told by command and url
	case "stdio":
		out.URL = ""
	default:
		out.Command = ""
	}
	if s.Tools != nil {
		list := &wire.Tools{Enable: s.Tools.Enable, Disable: s.Tools.Disable}
		out.Allowed = func(tool string) bool { return allowedBy(list, tool) }
	}
	return out
}

// mcpTools are the tools of the servers that a session's settings name.
func (p *sessionParts) mcpTools(c *wire.Config) (out []agent.Tool) {
	mine := map[string]bool{}
	for _, t := range p.d.mcp.Tools() {
		server := strings.TrimPrefix(t.Spec().Source, mcpSource)
		on, known := mine[server]
		if !known {
			on = p.has(server, c)
			mine[server] = on
		}
		if on {
			out = append(out, t)
		}
	}
	return out
}

// has says whether a running server is the one that a session's settings mean by that name.
func (p *sessionParts) has(server string, c *wire.Config) bool {
	own, ok := c.MCPServers[server]
	if !ok || own.Disabled {
		return false
	}
	p.d.mu.Lock()
	running, ok := p.d.mcpDefs[server]
	p.d.mu.Unlock()
	if !ok || reflect.DeepEqual(own, running) {
		return ok
	}
	if p.d.mcpDue.Load() { // what runs is not what is asked for by now
		return false
	}
	p.d.tellOnce(p.info, []string{"MCP server " + server + ": another session's settings have a different server of that name, which runs; give one of them another name"})
	return false
}

// holdServers keeps MCP servers from starting until the session's next request has been on its way for a moment: they
// would take the time that the user waits for.
func (p *sessionParts) holdServers() {
	release := p.d.mcp.Hold()
	p.letServers() // of a prompt that led to no request
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release = release
}

// holding says whether the session's next request is one that servers wait for.
func (p *sessionParts) holding() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.release != nil
}

// takeHold returns what ends holdServers, for the caller to call; nil: nothing is held.
func (p *sessionParts) takeHold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	release, p.release = p.release, nil
	return release
}

// letServers ends holdServers.
func (p *sessionParts) letServers() {
	if release := p.takeHold(); release != nil {
		release()
	}
}

// beforeServers makes the next request of a session's models the end of holdServers; the requests after it are as they were.
func (p *sessionParts) beforeServers(models []agent.Model) []agent.Model {
	if len(models) == 0 {
		p.letServers()
		return models
	}
	release := p.takeHold()
	if release == nil {
		return models
	}
	out := slices.Clone(models)
	for i, m := range out {
		out[i] = urgent{m, release}
	}
	return out
}

// urgent is a model that says when a request is written, or has failed.
type urgent struct {
	agent.Model
	sent func()
}

func (m urgent) Generate(ctx context.Context, req *agent.Request, on func(agent.Delta)) (*agent.Reply, error) {
	defer m.sent()
	trace := httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { m.sent() }}
	return m.Model.Generate(httptrace.WithClientTrace(ctx, &trace), req, on)
}
