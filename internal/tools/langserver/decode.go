package langserver

import (
	"encoding/json"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// location is a range of a document in a response.
type location struct {
	uri string
	at  workspace.Range
}

// decodeLocations decodes Location, Location[] and LocationLink[].
func decodeLocations(raw json.RawMessage) []location {
	var list []struct {
		URI                  string
		Range                workspace.Range
		TargetURI            string
		TargetSelectionRange workspace.Range
	}
	if len(raw) > 0 && raw[0] == '{' {
		raw = append(append(json.RawMessage("["), raw...), ']')
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var out []location
	for _, l := range list {
		if l.TargetURI != "" {
			l.URI, l.Range = l.TargetURI, l.TargetSelectionRange
		}
		out = append(out, location{l.URI, l.Range})
	}
	return out
}

// symbol is a symbol of a document or of the workspace.
type symbol struct {
	name, container string
	detail          string
	kind            int
	uri             string // "" in the list of a single document
	at              workspace.Range
	depth           int
}

// named reports whether a symbol has the name that the model used, with or without its container.
func (s symbol) named(name string) bool {
	name = strings.TrimSuffix(strings.TrimSpace(name), "()")
	full, name := plain(s.name), plain(name)
	if s.container != "" {
		full = plain(s.container) + "." + full
	}
	return full == name || strings.HasSuffix(full, "."+name) || strings.HasSuffix(full, "/"+name)
}

// plain returns a qualified name without the parentheses and the asterisk of a Go receiver.
func plain(name string) string {
	return strings.NewReplacer("(", "", ")", "", "*",
		"").Replace(name)
}

type wireSymbol struct {
	Name, Detail   string
	ContainerName  string
	Kind           int
	SelectionRange *workspace.Range
	Location       struct {
		URI   string
		Range workspace.Range
	}
	Children []wireSymbol
}

// decodeSymbols decodes DocumentSymbol[], SymbolInformation[] and WorkspaceSymbol[]. Children
// follow their parents.
func decodeSymbols(raw json.RawMessage) []symbol {
	var list []wireSymbol
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return flatten(nil, list, "", 0)
}

// maxDepth limits how deeply symbols nest.
const maxDepth = 20

func flatten(out []symbol, list []wireSymbol, container string, depth int) []symbol {
	for _, w := range list {
		s := symbol{name: w.Name, container: w.ContainerName, detail: w.Detail, kind: w.Kind,
			uri: w.Location.URI, at: w.Location.Range, depth: depth}
		if w.SelectionRange != nil {
			s.at, s.container = *w.SelectionRange, container
		}
		out = append(out, s)
		if depth < maxDepth {
			out = flatten(out, w.Children, w.Name, depth+1)
		}
	}
	return out
}

// kinds contains the names of LSP's SymbolKind values.
var kinds = [...]string{"", "file", "module", "namespace", "package", "class", "method", "property",
	"field", "constructor", "enum", "interface", "function", "variable",
	"constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member",
	"struct", "event", "operator", "type parameter"}

func kindName(k int) string {
	if k > 0 && k < len(kinds) {
		return kinds[k]
	}
	return "symbol"
}

// decodeHover decodes every form of hover contents.
func decodeHover(raw json.RawMessage) string {
	var h struct{ Contents json.RawMessage }
	if json.Unmarshal(raw, &h) != nil {
		return ""
	}
	return strings.TrimSpace(marked(h.Contents))
}

func marked(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var parts []string
		for _, r := range list {
			parts = append(parts, marked(r))
		}
		return strings.Join(parts, "\n\n")
	}
	var m struct{ Value string }
	_ = json.Unmarshal(raw, &m)
	return m.Value
}

// callItem is one caller or callee.
type callItem struct {
	symbol
	calls []workspace.Range
}

// decodeCalls decodes CallHierarchyIncomingCall[] and CallHierarchyOutgoingCall[].
func decodeCalls(raw json.RawMessage) []callItem {
	type item struct {
		Name, Detail, URI string
		Kind              int
		SelectionRange    workspace.Range
	}
	var list []struct {
		From, To   *item
		FromRanges []workspace.Range
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var out []callItem
	for _, c := range list {
		it := c.From
		if it == nil {
			it = c.To
		}
		if it != nil {
			out = append(out, callItem{symbol{name: it.Name, detail: it.Detail, kind: it.Kind,
				uri: it.URI, at: it.SelectionRange}, c.FromRanges})
		}
	}
	return out
}
