package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

const (
	// SourceMCP is the prefix in the source of an MCP server's tools. The server's name follows the
	// prefix.
	SourceMCP = "mcp:"
	// defaultBudget is the default limit on the total size, in bytes, of the tools that are sent
	// completely.
	defaultBudget = 8000
	// maxAnnounced limits the size of the names in one announcement, in bytes.
	maxAnnounced = 2000
)

// Budget decides which deferred tools of a session are sent completely, and which the model has to
// load with tool_search. A tool that was sent completely once is sent completely from then on, so
// that the provider's cache remains valid. A Budget is safe for concurrent use.
type Budget struct {
	mu        sync.Mutex
	whole     map[string]bool // tools of MCP servers that are sent completely
	named     map[string]bool // tools of MCP servers that were announced
	announced *tool.Registry  // the registry whose tools were announced last
}

// NewBudget returns the budget of one session.
func NewBudget() *Budget { return &Budget{whole: map[string]bool{}, named: map[string]bool{}} }

// Apply selects which deferred tools of a registry are sent completely. room limits the total size
// in bytes of all tools that are sent completely, including those that are not deferred. 0 means
// the default of 8,000 bytes. For each MCP server, Apply selects all tools or none. If room is
// negative, or if there is no tool_search to load tools with, Apply selects all deferred tools.
func (b *Budget) Apply(reg *tool.Registry, room int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room == 0 {
		room = defaultBudget
	}
	_, search := reg.Get("tool_search")
	all := room < 0 || !search
	var servers []string
	size, names := map[string]int{}, map[string][]string{}
	for _, s := range reg.Specs() {
		switch {
		case all || b.whole[s.Name]:
			reg.Send(s.Name)
			fallthrough
		case !s.Deferred:
			room -= SentBytes(s)
		case strings.HasPrefix(s.Source, SourceMCP):
			if names[s.Source] == nil {
				servers = append(servers, s.Source)
			}
			size[s.Source] += SentBytes(s)
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
			b.whole[n] = true
		}
	}
}

// Announce returns a message for the model with the names of the MCP servers' deferred tools that
// have not been announced yet, or "" if there are none. The list of tools stays unchanged, so the
// part of the conversation that the provider has cached remains valid.
func (b *Budget) Announce(reg *tool.Registry) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if reg == nil {
		return ""
	}
	if _, ok := reg.Get("tool_search"); !ok {
		return ""
	}
	names := map[string][]string{}
	var specs []tool.Spec
	if reg != b.announced { // another registry may contain other tools
		b.announced, specs = reg, reg.Specs()
	}
	for _, s := range specs {
		if server, ok := strings.CutPrefix(s.Source, SourceMCP); ok && s.Deferred &&
			!b.named[s.Name] {
			b.named[s.Name] = true
			names[server] = append(names[server], s.Name)
		}
	}
	var lines []string
	for _, server := range slices.Sorted(maps.Keys(names)) {
		lines = append(lines, fmt.Sprintf("- %s: %s", server,
			firstNames(names[server], maxAnnounced/len(names))))
	}
	if len(lines) == 0 {
		return ""
	}
	return "Tools of MCP servers, which tool_search loads:\n" + strings.Join(lines, "\n")
}

// SentBytes returns the number of bytes that a tool adds to a request.
func SentBytes(s tool.Spec) int {
	weighed.Lock()
	defer weighed.Unlock()
	if w, ok := weighed.tools[s.Name]; ok && w.description == s.Description &&
		bytes.Equal(w.schema, s.Schema) {
		return w.bytes
	}
	w := weight{s.Description, s.Schema, len(s.Description) + len(s.Schema)}
	if b, err := json.Marshal(map[string]any{"type": "function",
		"function": map[string]any{"name": s.Name, "description": s.Description,
			"parameters": s.Schema}}); err == nil {
		w.bytes = len(b) + 1
	}
	if len(weighed.tools) >= maxWeighed { // servers may keep adding names
		clear(weighed.tools)
	}
	weighed.tools[s.Name] = w
	return w.bytes
}

// weighed caches the sizes of tools by name, because every session measures the same tools.
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

// firstNames lists as many names as fit into the given number of bytes, and reports how many more
// there are.
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
