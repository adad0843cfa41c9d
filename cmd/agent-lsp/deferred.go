package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	// deferBytes is the default of tools.deferBytes.
	deferBytes = 8000
	// searchWait is how long tool_search waits for MCP servers that are still starting.
	searchWait = 10 * time.Second
	// maxAnnounced bounds the names of one announcement, in bytes.
	maxAnnounced = 2000
	// maxWhy bounds what is said of why a server is not there, in bytes.
	maxWhy = 300
	// mcpSource begins the source of MCP tools; the server's name follows.
	mcpSource = "mcp:"
)

// sendWhole takes the tools out of the deferred ones that fit into tools.deferBytes: of MCP servers, a
// server's all or none. What was sent once stays, so that a provider's cache does. Without tool_search nothing
// could be loaded, and all are sent. Caller holds mu.
func (p *sessionParts) sendWhole(reg *agent.Registry, c *wire.Config) {
	room := deferBytes
	if c.Tools != nil && c.Tools.DeferBytes != 0 {
		room = c.Tools.DeferBytes
	}
	_, search := reg.Get("tool_search")
	all := room < 0 || !search
	var servers []string
	size, names := map[string]int{}, map[string][]string{}
	for _, s := range reg.Specs() {
		switch {
		case all || p.whole[s.Name]:
			reg.Send(s.Name)
			fallthrough
		case !s.Deferred:
			room -= sentBytes(s)
		case strings.HasPrefix(s.Source, mcpSource):
			if names[s.Source] == nil {
				servers = append(servers, s.Source)
			}
			size[s.Source] += sentBytes(s)
			names[s.Source] = append(names[s.Source], s.Name)
		}
	}
	sort.Strings(servers)
	for _, source := range servers {
		if size[source] > room {
			continue
		}
		room -= size[source]
		reg.Send(names[source]...)
		for _, n := range names[source] {
			p.whole[n] = true
		}
	}
}

// sentBytes is what a tool takes of a request.
func sentBytes(s agent.Spec) int {
	weighed.Lock()
	defer weighed.Unlock()
	if w, ok := weighed.tools[s.Name]; ok && w.description == s.Description && bytes.Equal(w.schema, s.Schema) {
		return w.bytes
	}
	w := weight{s.Description, s.Schema, len(s.Description) + len(s.Schema)}
	if b, err := json.Marshal(map[string]any{"type": "function", "function": map[string]any{"name": s.Name, "description": s.Description, "parameters": s.Schema}}); err == nil {
		w.bytes = len(b) + 1
	}
	if len(weighed.tools) >= maxWeighed { // servers may go on to bring new names
		clear(weighed.tools)
	}
	weighed.tools[s.Name] = w
	return w.bytes
}

// weighed are the tools whose size is known, by name: each session weighs the same anew.
var weighed = struct {
	sync.Mutex
	tools map[string]weight
}{tools: map[string]weight{}}

const maxWeighed = 5000

type weight struct {
	description string
	schema      json.RawMessage
	bytes       int
}

// weighServers weighs the tools of MCP servers as they come, so that no prompt does.
func (d *daemon) weighServers() {
	for _, t := range d.mcp.Tools() {
		sentBytes(t.Spec())
	}
}

// pending waits for MCP servers that are starting, or about to, for tool_search.
func (p *sessionParts) pending() func(context.Context) bool {
	p.d.startMCP()
	return p.d.mcp.Pending(searchWait)
}

// missing names the session's MCP servers that have not answered yet or have failed, for tool_search.
func (p *sessionParts) missing() string {
	c := p.info.Config()
	var out []string
	for _, st := range p.d.mcp.Status() {
		if st.State == "ready" || !p.may(st.Name) || !p.has(st.Name, &c) {
			continue
		}
		why := "has not answered yet"
		if st.Error != "" {
			why = firstBytes(p.d.redact.Text(st.Error), maxWhy)
		}
		out = append(out, st.Name+" ("+why+")")
	}
	return strings.Join(out, ", ")
}

// catalog lists the session's deferred tools for tool_search, and those of MCP servers that are sent whole by now: the
// model may look for them because they were not there when it was last asked.
func (p *sessionParts) catalog() []agent.Spec {
	c := p.info.Config()
	reg, err := p.tools(&c)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(reg.Specs(), func(s agent.Spec) bool { return !s.Deferred && !strings.HasPrefix(s.Source, mcpSource) })
}

// announce names the deferred tools of MCP servers that the model was not told of yet. It is a message and no part of the
// tools, so that what a provider has cached of the conversation holds. "" if there is nothing new. Of servers that are
// starting there is nothing to say: tool_search names them, and waits for them.
func (p *sessionParts) announce() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	reg := p.registry // made for the model call that this is part of
	if reg == nil {
		return ""
	}
	if _, ok := reg.Get("tool_search"); !ok {
		return ""
	}
	names := map[string][]string{}
	var specs []agent.Spec
	if reg != p.announced { // another one may hold others
		p.announced, specs = reg, reg.Specs()
	}
	for _, s := range specs {
		if server, ok := strings.CutPrefix(s.Source, mcpSource); ok && s.Deferred && !p.named[s.Name] {
			p.named[s.Name] = true
			names[server] = append(names[server], s.Name)
		}
	}
	var lines []string
	for _, server := range sortedKeys(names) {
		lines = append(lines, fmt.Sprintf("- %s: %s", server, firstNames(names[server], maxAnnounced/len(names))))
	}
	if len(lines) == 0 {
		return ""
	}
	return "Tools of MCP servers, which tool_search loads:\n" + strings.Join(lines, "\n")
}

// may says whether a session could have any tool of a server.
func (p *sessionParts) may(server string) bool { return p.only == nil || p.only(server+"_tool") }

// firstNames lists as many names as fit into that many bytes, and says how many more there are.
func firstNames(names []string, room int) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 && b.Len()+len(n)+2 > room {
			return fmt.Sprintf("%s and %d more", b.String(), len(names)-i)
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n)
	}
	return b.String()
}

// firstBytes cuts a text at that many bytes, between characters.
func firstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
