package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Deferred tools over the responses API. OpenAI's tool search can be left to the client: our own
// tool_search goes as a tool of type tool_search with execution "client", its call comes as
// tool_search_call, and what it found goes back as tool_search_output, each tool with defer_loading.
// So a tool that is loaded stands in the conversation where it was found, and what the provider has cached of
// the beginning, tools included, holds. Where the API does not know this, loaded tools are sent behind the others.
// https://developers.openai.com/api/docs/guides/tools-tool-search

// searchTool is the name of our tool that finds deferred tools.
const searchTool = "tool_search"

// searchItem is how a search and its result are called in the API.
const searchItem = "tool_search"

// deferral says which tools one call gives with the results of searches. A nil one gives none.
type deferral struct {
	name  string                     // of the search
	tools map[string]*agent.ToolSpec // found by a search that the history holds
	at    map[*message.Message][]*agent.ToolSpec
}

// deferring looks for searches in the call's history; nil where the provider does not know them.
func (c *call) deferring(k can) *deferral {
	if !k.call || !c.defersLoading() || c.taken("tools") ||
		!slices.ContainsFunc(c.req.Tools, func(t agent.ToolSpec) bool { return t.Name == searchTool }) {
		return nil
	}
	d := &deferral{name: searchTool, tools: map[string]*agent.ToolSpec{}, at: map[*message.Message][]*agent.ToolSpec{}}
	for _, m := range c.req.Messages {
		if !d.found(m) {
			continue
		}
		for _, name := range agent.Activated(m) {
			i := slices.IndexFunc(c.req.Tools, func(t agent.ToolSpec) bool { return t.Deferred && strings.EqualFold(t.Name, name) })
			if i >= 0 && d.tools[c.req.Tools[i].Name] == nil { // once: the first search counts
				t := &c.req.Tools[i]
				d.tools[t.Name] = t
				d.at[m] = append(d.at[m], t)
			}
		}
	}
	return d
}

// defersLoading says whether the provider knows defer_loading: the setting, else OpenAI itself from gpt-5.4 on.
func (c *call) defersLoading() bool {
	if on := c.m.opts.DeferLoading; on != nil {
		return *on
	}
	return c.m.dialect == OpenAI && searchesTools(c.model)
}

// searchesTools says whether a model is gpt-5.4 or a later one.
func searchesTools(model string) bool {
	version, ok := strings.CutPrefix(baseName(model), "gpt-")
	if !ok {
		return false
	}
	version, _, _ = strings.Cut(version, "-")
	major, minor, _ := strings.Cut(version, ".")
	a, err := strconv.Atoi(major)
	b, minorErr := strconv.Atoi(minor)
	return err == nil && (a > 5 || a == 5 && minorErr == nil && b >= 4)
}

// has says whether a tool is given with the result of a search.
func (d *deferral) has(name string) bool { return d != nil && d.tools[name] != nil }

// found says whether a message is the result of a search.
func (d *deferral) found(m *message.Message) bool {
	return d != nil && m.Role == message.RoleTool && m.Name == d.name
}

// searchOutput appends a search's result with the tools that it is the first to load.
func (c *call) searchOutput(b []byte, d *deferral, m *message.Message) []byte {
	b = appendField(append(b, `{"type":"tool_search_output","execution":"client","status":"completed"`...), "call_id", m.CallID)
	b = append(appendKey(b, "tools"), '[')
	start := len(b)
	for _, t := range d.at[m] {
		b = appendFunction(c.next(b, start), t, `"defer_loading":true,`)
	}
	return append(b, ']', '}')
}

// said is what a search said beside the tools that it loads, which its result has no place for: that
// nothing fits, that a name is not known, that it was skipped or interrupted.
func (d *deferral) said(m *message.Message) []byte {
	if len(d.at[m]) > 0 && len(d.at[m]) == len(agent.Activated(m)) && !m.IsError {
		return nil
	}
	return append(appendField([]byte(`{"role":"developer"`), "content", "Result of "+d.name+": "+m.TextContent()), '}')
}

// appendSearchTool appends our search as the tool search of a client.
func appendSearchTool(b []byte, t *agent.ToolSpec) []byte {
	b = appendField(append(b, `{"type":"tool_search","execution":"client"`...), "description", t.Description)
	if json.Valid(t.Schema) && len(t.Schema) > 0 {
		b = append(appendKey(b, "parameters"), t.Schema...)
	}
	return append(b, '}')
}
