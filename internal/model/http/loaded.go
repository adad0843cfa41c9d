package modelhttp

import (
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// SearchTool is the name of the tool that loads deferred tools.
const SearchTool = "tool_search"

// Loaded records which tools are sent with the results of the searches that loaded them, and not
// with the other tools. A nil Loaded contains no tools.
type Loaded struct {
	tools map[string]*agent.ToolSpec // loaded by a search in the history
	at    map[*message.Message][]*agent.ToolSpec
}

// LoadedTools finds searches in a request's history. It returns nil if the request does not have
// the search tool.
func LoadedTools(req *agent.Request) *Loaded {
	if !slices.ContainsFunc(
		req.Tools,
		func(t agent.ToolSpec) bool { return t.Name == SearchTool },
	) {
		return nil
	}
	d := &Loaded{tools: map[string]*agent.ToolSpec{}, at: map[*message.Message][]*agent.ToolSpec{}}
	for _, m := range req.Messages {
		if !d.Found(m) {
			continue
		}
		for _, name := range agent.Activated(m) {
			i := slices.IndexFunc(
				req.Tools,
				func(t agent.ToolSpec) bool {
					return t.Deferred &&
						strings.EqualFold(t.Name, name)
				},
			)
			if i >= 0 &&
				// The tool belongs to the first search that loads it.
				d.tools[req.Tools[i].Name] == nil {
				t := &req.Tools[i]
				d.tools[t.Name] = t
				d.at[m] = append(d.at[m], t)
			}
		}
	}
	return d
}

// Has reports whether a tool is sent with the result of a search.
func (d *Loaded) Has(name string) bool { return d != nil && d.tools[name] != nil }

// Found reports whether a message is the result of a search.
func (d *Loaded) Found(m *message.Message) bool {
	return d != nil && m.Role == message.RoleTool && m.Name == SearchTool
}

// At returns the tools that a search has loaded and no earlier search had loaded.
func (d *Loaded) At(m *message.Message) []*agent.ToolSpec { return d.at[m] }

// Said returns the text of a search's result, or "" if the loaded tools are the whole result. The
// text may report that nothing was found, that a name is unknown, or that the search was skipped or
// interrupted.
func (d *Loaded) Said(m *message.Message) string {
	if len(d.at[m]) > 0 && len(d.at[m]) == len(agent.Activated(m)) && !m.IsError {
		return ""
	}
	return "Result of " + SearchTool + ": " + m.TextContent()
}
