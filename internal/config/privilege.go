package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// privileged keys start programs, reach the network, say where keys go, or prompt by
// themselves: only the user may set them, unless the workspace is trusted.
var privileged = []string{
	"provider", "providers", "mcpServers", "languageServers", "hooks", "check", "formatters", "shell", "environment", "network", "webSearch", "fetch",
	"memory.embeddings", "sandboxPaths", "mode", "aiComments",
}

// ranks order values from strict to loose; only the user may loosen.
var ranks = map[string][]string{
	"editPolicy":          {"ask,confirm,collect", "review", "auto"},
	"permissions.profile": {"readOnly", "ask", "workspace", "trust"},
	"sandbox":             {"require", "auto", "off"},
}

// restrict takes from a layer that is not the user's own what it may not set. base is what the
// user's own layers say so far. It returns the keys that trusting the workspace would set.
func (c *checker) restrict(tree, base map[string]any) (held []string) {
	const why = "only the user may set this; ignored until you trust the workspace (agent-lsp trust yes)"
	for _, path := range privileged {
		if v, ok := lookup(tree, path); ok {
			remove(tree, path)
			if own, ok := lookup(base, path); ok && reflect.DeepEqual(v, own) {
				continue // the client repeats what the user set
			}
			c.note(path, why)
			held = append(held, path)
		}
	}
	for _, path := range []string{"editPolicy", "permissions.profile", "sandbox"} {
		v, ok := lookup(tree, path)
		was, _ := lookup(base, path)
		if ok && rank(path, v) > rank(path, was) {
			remove(tree, path)
			c.note(path, "%v would allow more than the user's own %v; ignored until you trust the workspace (agent-lsp trust yes)", v, was)
			held = append(held, path)
		}
	}
	return append(append(held, c.restrictRules(tree, base)...), c.restrictModes(tree)...)
}

func rank(path string, v any) int {
	s, _ := v.(string)
	return slices.IndexFunc(ranks[path], func(r string) bool { return slices.Contains(strings.Split(r, ","), s) })
}

// restrictRules keeps the user's rules and adds those of the layer that forbid or ask.
func (c *checker) restrictRules(tree, base map[string]any) (held []string) {
	const path = "permissions.rules"
	v, ok := lookup(tree, path)
	if !ok {
		return nil
	}
	own, _ := lookup(base, path)
	rules, _ := own.([]any)
	rules = slices.Clone(rules)
	for _, r := range v.([]any) {
		if s, _ := r.(string); strings.HasPrefix(s, "deny ") || strings.HasPrefix(s, "ask ") {
			rules = append(rules, r)
		} else if !slices.Contains(rules, r) {
			held = []string{path}
		}
	}
	if held != nil {
		c.note(path, "rules that allow are ignored until you trust the workspace (agent-lsp trust yes)")
	}
	tree["permissions"].(map[string]any)["rules"] = rules
	return held
}

// restrictModes leaves modes their model, tools and prompt.
func (c *checker) restrictModes(tree map[string]any) (held []string) {
	modes, _ := tree["modes"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		mode, _ := modes[name].(map[string]any)
		for _, key := range []string{"editPolicy", "permissions"} {
			if _, ok := mode[key]; ok {
				delete(mode, key)
				c.note("modes."+name+"."+key, "only the user may set this; ignored until you trust the workspace (agent-lsp trust yes)")
				held = append(held, "modes."+name+"."+key)
			}
		}
	}
	return held
}

// lookup returns the value at a dotted path.
func lookup(tree map[string]any, path string) (any, bool) {
	for {
		key, rest, more := strings.Cut(path, ".")
		v, ok := tree[key]
		if !more || !ok {
			return v, ok
		}
		if tree, ok = v.(map[string]any); !ok {
			return nil, false
		}
		path = rest
	}
}

func remove(tree map[string]any, path string) {
	key, rest, more := strings.Cut(path, ".")
	if !more {
		delete(tree, key)
		return
	}
	if sub, ok := tree[key].(map[string]any); ok {
		remove(sub, rest)
	}
}

// merge returns low with high laid over it: objects merge by key, everything else replaces.
// Neither is changed.
func merge(low, high map[string]any) map[string]any {
	out := make(map[string]any, len(low)+len(high))
	for k, v := range low {
		out[k] = v
	}
	for k, v := range high {
		below, isObject := out[k].(map[string]any)
		above, both := v.(map[string]any)
		if isObject && both {
			v = merge(below, above)
		}
		out[k] = v
	}
	return out
}
