package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// maxToolHits is the maximum number of tools that a search loads.
const maxToolHits = 5

// maxServerNames limits the total size of the MCP server names in the description, in bytes.
const maxServerNames = 500

// maxToolNames is how many names an answer lists if the search found nothing.
const maxToolNames = 100

// maxMoreNames is how many names an answer lists in addition to the tools that it loads.
const maxMoreNames = 25

type toolSearchArgs struct {
	Query string `json:"query"`
}

func (e *sessionEnv) toolSearchTool() tool.Tool {
	t := newTool(definition[toolSearchArgs]{
		spec: tool.Spec{
			Name: "tool_search", Label: "Find tools", Effect: tool.ReadOnly, Hidden: true,
			Aliases: []string{"search_tools", "find_tools", "toolsearch"},
		},
		prepare: func(_ *tool.Call, a toolSearchArgs) tool.Prepared {
			return tool.Prepared{Run: bind(e.toolSearch, a)}
		},
	})
	if names := append(specNames(e.own), e.More...); len(names) > 0 {
		t.spec.Description += " Also built in: " + strings.Join(names, ", ") + "."
	}
	if len(e.Servers) > 0 {
		t.spec.Description += " It also finds, and waits for, the tools of these MCP servers: " +
			oneLine(strings.Join(e.Servers, ", "), maxServerNames) + "."
	}
	return t
}

func specNames(specs []tool.Spec) (names []string) {
	for _, s := range specs {
		names = append(names, s.Name)
	}
	return names
}

// nameList lists the first names of tools, up to the limit.
func nameList(specs []tool.Spec, limit int) string {
	names := specNames(specs)
	if more := len(names) - limit; more > 0 {
		names = append(names[:limit:limit], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func (e *sessionEnv) catalog() []tool.Spec {
	if e.Catalog != nil {
		return e.Catalog()
	}
	return e.own
}

func (e *sessionEnv) toolSearch(ctx context.Context, _ *tool.Call,
	a toolSearchArgs) (*tool.Result, error) {
	specs, hits, unknown, err := e.search(ctx, strings.TrimSpace(a.Query))
	if err != nil {
		return nil, err
	}
	if len(hits) == 0 {
		return text("No tool matches %q. Available tools: %s.%s", a.Query,
			nameList(specs, maxToolNames), e.missing()), nil
	}
	loaded := hits[:min(len(hits), maxToolHits)]
	var b strings.Builder
	b.WriteString("Loaded. You can call these tools now:\n")
	for _, s := range loaded {
		fmt.Fprintf(&b, "- %s: %s\n", s.Name, oneLine(s.Description, 200))
	}
	if more := hits[len(loaded):]; len(more) > 0 {
		fmt.Fprintf(&b, "Not loaded (at most %d per search): %s. Search again for the ones that you need.\n", maxToolHits, nameList(more, maxMoreNames))
	}
	if len(unknown) > 0 {
		fmt.Fprintf(&b, "Not known: %s.%s\n", strings.Join(unknown, ", "), e.missing())
	}
	res := text("%s", strings.TrimSuffix(b.String(), "\n"))
	res.Activate = specNames(loaded)
	return res, nil
}

// missing names the servers whose tools are not available, or returns "" if all are available.
func (e *sessionEnv) missing() string {
	if e.Missing == nil {
		return ""
	}
	if why := e.Missing(); why != "" {
		return " MCP servers that have no tools yet: " + why + "."
	}
	return ""
}

// search repeats the search while more tools are expected and something was not found.
func (e *sessionEnv) search(ctx context.Context,
	query string) (specs, hits []tool.Spec, unknown []string, err error) {
	for {
		var wait func(context.Context) bool
		if e.Pending != nil {
			wait = e.Pending()
		}
		specs = e.catalog()
		hits, unknown, err = findTools(specs, query)
		if err != nil || len(hits) > 0 && len(unknown) == 0 || wait == nil || !wait(ctx) {
			return specs, hits, unknown, err
		}
	}
}

// findTools finds tools by a query of the form "select:a,b" or "/regular expression/", or by words.
func findTools(specs []tool.Spec, query string) (hits []tool.Spec, unknown []string, err error) {
	if names, ok := strings.CutPrefix(query, "select:"); ok {
		hits, unknown = selectTools(specs, names)
		return hits, unknown, nil
	}
	if len(query) > 2 && query[0] == '/' && query[len(query)-1] == '/' {
		re, err := regexp.Compile("(?i)" + query[1:len(query)-1])
		if err != nil {
			return nil, nil, fmt.Errorf("invalid regular expression: %w", err)
		}
		for _, s := range specs {
			if re.MatchString(s.Name + "\n" + s.Description) {
				hits = append(hits, s)
			}
		}
		return hits, nil, nil
	}
	if query == "" {
		return nil, nil, errors.New("the query is empty; send select:name, /expression/ or words")
	}
	return rankTools(specs, strings.Fields(strings.ToLower(query))), nil, nil
}

func selectTools(specs []tool.Spec, names string) (hits []tool.Spec, unknown []string) {
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(specs, func(s tool.Spec) bool {
			return strings.EqualFold(s.Name, name) ||
				slices.ContainsFunc(s.Aliases,
					func(a string) bool { return strings.EqualFold(a, name) })
		})
		switch {
		case name == "":
		case i < 0:
			unknown = append(unknown, name)
		default:
			hits = append(hits, specs[i])
		}
	}
	return hits, unknown
}

// rankTools ranks a word in a tool's name higher than one in the tool's other names or its
// description.
func rankTools(specs []tool.Spec, words []string) []tool.Spec {
	type scored struct {
		tool.Spec
		score int
	}
	var all []scored
	for _, s := range specs {
		score := 0
		for _, w := range words {
			switch {
			case strings.Contains(strings.ToLower(s.Name), w):
				score += 3
			case strings.Contains(strings.ToLower(strings.Join(s.Aliases, " ")), w):
				score += 2
			case strings.Contains(strings.ToLower(s.Description), w):
				score++
			}
		}
		if score > 0 {
			all = append(all, scored{s, score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var hits []tool.Spec
	for _, s := range all {
		hits = append(hits, s.Spec)
	}
	return hits
}
