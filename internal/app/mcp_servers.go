package app

import (
	"context"
	"maps"
	"net/http/httptrace"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/config"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/tools"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp"
)

// mcpServers runs the MCP servers that the settings name. It is safe for concurrent use.
type mcpServers struct {
	hub       *mcp.Hub
	env       []string        // the daemon's own environment
	inherited func() []string // returns the part of env that each server inherits
	root      string
	config    func() *config.Config

	due         atomic.Bool // whether later has scheduled a call of start
	definitions mcp.Definitions[config.MCP]
}

// later schedules a call of start for a time when no request is urgent. The model request for a
// session's first prompt takes precedence over the servers, because the prompt arrives together
// with the session.
func (m *mcpServers) later() {
	if !m.due.Swap(true) {
		m.hub.Later(m.start)
	}
}

// start makes the running MCP servers match the settings. Servers start in the background.
func (m *mcpServers) start() {
	m.due.Store(false) // later may be called again from now on
	m.definitions.Apply(m.wanted, func(s config.MCP) bool { return s.Disabled }, m.configure)
}

func (m *mcpServers) wanted() map[string]config.MCP { return m.config().MCPServers }

// changed reports whether settings name different servers than those at the last call of start.
func (m *mcpServers) changed(c *config.Config) bool { return !m.definitions.Applied(c.MCPServers) }

func (m *mcpServers) configure(defs map[string]config.MCP) {
	var configs []mcp.Config
	inherited := m.inherited()
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		c := mcpConfig(name, defs[name], inherited, m.env, m.root)
		c.Starts = func() error { return m.starts(name, defs[name]) }
		configs = append(configs, c)
	}
	m.hub.Configure(configs)
}

// starts returns an error if the settings no longer name the server. Since the server was
// configured, the settings may have changed, and the user may no longer trust them.
func (m *mcpServers) starts(name string, def config.MCP) error {
	if now, ok := m.wanted()[name]; ok && reflect.DeepEqual(now, def) {
		return nil
	}
	m.later() // removes the server
	return errUntrusted
}

// mcpConfig converts a server's settings. inherited is the environment that the server inherits;
// the variables in its settings are added. Variable names in the settings are looked up in env, the
// daemon's environment.
func mcpConfig(name string, s config.MCP, inherited, env []string, root string) mcp.Config {
	own := withEnv(inherited, expandAll(s.Env, env))
	dir := s.Cwd
	if dir == "" || !filepath.IsAbs(dir) {
		dir = filepath.Join(firstOf(root, "."), dir)
	}
	out := mcp.Config{Name: name, Command: s.Command, Args: s.Args, Env: own, Dir: dir, URL: s.URL,
		Headers: expandAll(s.Headers, env),
		Timeout: time.Duration(s.TimeoutMs) * time.Millisecond}
	switch s.Type {
	case "": // inferred from the settings command and url
	case "stdio":
		out.URL = ""
	default:
		out.Command = ""
	}
	if s.Tools != nil {
		list := &config.Tools{Enable: s.Tools.Enable, Disable: s.Tools.Disable}
		out.Allowed = func(tool string) bool { return allowedBy(list, tool) }
	}
	return out
}

// mcpTools returns the tools of the servers that a session's settings name.
func (p *sessionParts) mcpTools(c *config.Config) (out []tool.Tool) {
	mine := map[string]bool{}
	for _, t := range p.d.mcp.hub.Tools() {
		server := strings.TrimPrefix(t.Spec().Source, tools.SourceMCP)
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

// has reports whether a running server is the one that a session's settings name.
func (p *sessionParts) has(server string, c *config.Config) bool {
	def, ok := c.MCPServers[server]
	return ok && !def.Disabled && p.d.mcp.definitions.Runs(server, def)
}

// holdServers prevents MCP servers from starting until the session's next model request has been
// written, because their start would delay the response that the user is waiting for.
func (p *sessionParts) holdServers() {
	release := p.d.mcp.hub.Hold()
	p.letServers() // release the hold of an earlier prompt that sent no model request
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release = release
}

// holding reports whether the start of servers waits for the session's next request.
func (p *sessionParts) holding() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.release != nil
}

// takeHold returns the function that releases the servers that holdServers holds back, or nil if it
// holds none back. The caller must call the function.
func (p *sessionParts) takeHold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	release, p.release = p.release, nil
	return release
}

// letServers allows the servers that holdServers held back to start.
func (p *sessionParts) letServers() {
	if release := p.takeHold(); release != nil {
		release()
	}
}

// beforeServers makes the next request of a session's models release the servers that holdServers
// holds back. Later requests are not affected.
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

// urgent is a model that calls the function sent when its request has been written or has failed.
type urgent struct {
	agent.Model
	sent func()
}

func (m urgent) Generate(ctx context.Context, req *agent.Request,
	on func(agent.Delta)) (*agent.Reply, error) {
	defer m.sent()
	trace := httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { m.sent() }}
	return m.Model.Generate(httptrace.WithClientTrace(ctx, &trace), req, on)
}
