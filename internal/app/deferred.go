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
	// searchWait is how long tool_search waits for MCP servers that are still starting.
	searchWait = 10 * time.Second
	// maxWhy bounds what is said of why a server is not there, in bytes.
	maxWhy = 300
)

// weighServers weighs the tools of MCP servers as they come, so that no prompt does.
func (d *daemon) weighServers() {
	for _, t := range d.mcp.hub.Tools() {
		tools.SentBytes(t.Spec())
	}
}

// pending waits for MCP servers that are starting, or about to, for tool_search.
func (p *sessionParts) pending() func(context.Context) bool {
	p.d.mcp.start()
	return p.d.mcp.hub.Pending(searchWait)
}

// missing names the session's MCP servers that have not answered yet or have failed, for
// tool_search.
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

// catalog lists the session's deferred tools for tool_search, and those of MCP servers that are
// sent whole by now: the model may look for them because they were not there when it was last
// asked.
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

// may says whether a session could have any tool of a server.
func (p *sessionParts) may(server string) bool { return p.only == nil || p.only(server+"_tool") }
