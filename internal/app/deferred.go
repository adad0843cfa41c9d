package app

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/tools"
)

const (
	// searchWait is the maximum time that tool_search waits for MCP servers that are starting.
	searchWait = 10 * time.Second
	// maxWhy is the maximum length, in bytes, of the reason why a server is not available.
	maxWhy = 300
)

// weighServers computes the size of the MCP servers' tools as soon as the tools arrive, so that no
// prompt has to wait for it.
func (d *daemon) weighServers() {
	for _, t := range d.mcp.hub.Tools() {
		tools.SentBytes(t.Spec())
	}
}

// pending returns a function that lets tool_search wait for MCP servers that are starting or about
// to start.
func (p *sessionParts) pending() func(context.Context) bool {
	p.d.mcp.start()
	return p.d.mcp.hub.Pending(searchWait)
}

// missing lists, for tool_search, the session's MCP servers that have not answered yet or have
// failed.
func (p *sessionParts) missing() string {
	c := p.info.Config()
	var out []string
	for _, st := range p.d.mcp.hub.Status() {
		if st.State == "ready" || !p.may(st.Name) || !p.has(st.Name, &c) {
			continue
		}
		why := "has not answered yet"
		if st.Error != "" {
			why = clip.Bytes(p.d.redact.Text(st.Error), maxWhy)
		}
		out = append(out, st.Name+" ("+why+")")
	}
	return strings.Join(out, ", ")
}

// catalog lists the session's deferred tools for tool_search. It also lists the MCP tools that are
// now sent in full, because the model may search for tools that were missing when it last called
// tool_search.
func (p *sessionParts) catalog() []tool.Spec {
	c := p.info.Config()
	reg, err := p.tools(&c)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(reg.Specs(),
		func(s tool.Spec) bool {
			return !s.Deferred &&
				!strings.HasPrefix(s.Source, tools.SourceMCP)
		})
}

// may reports whether a session may use the tools of a server.
func (p *sessionParts) may(server string) bool { return p.only == nil || p.only(server+"_tool") }
