package config

import (
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// unlimited reports whether a number means that there is no limit.
type unlimited func(n float64) bool

func never(float64) bool         { return false }
func notPositive(n float64) bool { return n <= 0 }

// raised is the text of the notice about a value that would raise a limit.
const raised = "%v would raise the user's own limit; ignored " + untilTrusted

// raises reports whether v is a higher limit than the user's value at path. If the user has set no
// value, there is no limit to raise.
func (u unlimited) raises(path string, v any, base map[string]any) bool {
	limit := func(v any) float64 {
		n, ok := v.(float64)
		if !ok || u(n) {
			return math.Inf(1)
		}
		return n
	}
	own, _ := lookup(base, path)
	return limit(v) > limit(own)
}

// restrictBounds removes values that would raise a limit or turn on a switch.
func (c *checker) restrictBounds(tree, base map[string]any) (held []Claimed) {
	take := func(path, notice string, v any) {
		remove(tree, path)
		c.note(path, notice, v)
		held = append(held, Claimed{path, v})
	}
	for _, path := range slices.Sorted(maps.Keys(bounds)) {
		if v, ok := lookup(tree, path); ok && bounds[path].raises(path, v, base) {
			take(path, raised, v)
		}
	}
	for _, path := range switches {
		own, _ := lookup(base, path)
		if v, ok := lookup(tree, path); ok && v == true && own == false {
			take(path, "%v would enable what the user disabled; ignored "+untilTrusted, v)
		}
	}
	return held
}

// restrictTools prevents a workspace from enabling tools that the user disabled, and from replacing
// the user's own list of enabled tools with one that has other tools.
func (c *checker) restrictTools(tree, base map[string]any) (held []Claimed) {
	if v, ok := lookup(tree, "tools.disable"); ok {
		own, _ := lookup(base, "tools.disable")
		disabled, _ := own.([]any)
		disabled = slices.Clone(disabled)
		for _, name := range v.([]any) {
			if !slices.Contains(disabled, name) {
				disabled = append(disabled, name)
			}
		}
		put(tree, "tools.disable", any(disabled))
	}
	v, ok := lookup(tree, "tools.enable")
	own, restricts := lookup(base, "tools.enable")
	list, _ := own.([]any)
	if !ok || !restricts || len(list) == 0 {
		return nil
	}
	other := func(name any) bool { return !slices.Contains(list, name) }
	wider := slices.ContainsFunc(v.([]any), other)
	if !wider && len(v.([]any)) > 0 {
		return nil
	}
	remove(tree, "tools.enable")
	c.note("tools.enable",
		"the user's own list does not contain all of these tools; ignored "+untilTrusted)
	return []Claimed{{"tools.enable", v}}
}

// restrictInstructions keeps the names of Markdown files inside the workspace, and the names that
// the user has set. The targets of links are checked when the files are read.
func (c *checker) restrictInstructions(tree, base map[string]any) (held []Claimed) {
	const key = "project.instructions"
	v, ok := lookup(tree, key)
	if !ok {
		return nil
	}
	own, _ := lookup(base, key)
	mine, _ := own.([]any)
	kept := []any{}
	for _, name := range v.([]any) {
		s, _ := name.(string)
		inside := isMarkdown(s) && filepath.IsLocal(filepath.FromSlash(s))
		if inside || slices.Contains(mine, name) {
			kept = append(kept, name)
		}
	}
	if len(kept) == len(v.([]any)) {
		return nil
	}
	c.note(key, "only Markdown files inside the workspace can be instructions; the others are ignored "+untilTrusted)
	if remove(tree, key); len(kept) > 0 {
		put(tree, key, any(kept))
	}
	return []Claimed{{key, v}}
}

func isMarkdown(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".md" || ext == ".markdown"
}
