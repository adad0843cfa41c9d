package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Every setting is in exactly one of the tables privileged, bounds, switches, filtered,
// conversation and ranks. TestEverySettingIsClassified checks this.

// privileged lists keys that start programs, reach the network, determine where keys are sent,
// loosen the sandbox, cost money without a limit, change which parts of a reply take effect, or
// send prompts automatically. Only the user may set them, unless the workspace is trusted. A key
// includes everything below it.
var privileged = []string{
	"provider", "providers", "prices", "catalog", "mcpServers", "languageServers", "hooks", "check",
	"formatters", "shell", "environment", "network", "webSearch", "fetch", "memory.embeddings",
	"sandboxPaths",
	"mode", "aiComments", "repair",
}

// sessionsMayNotSet lists the keys that a session's own config cannot set
// (docs/reference/protocol/sessions.md). This applies to every client. Their values come from the
// layers below that config. TestASessionSetsNoPrograms requires a decision for every privileged
// key.
var sessionsMayNotSet = []string{
	"provider", "providers", "mcpServers", "languageServers", "hooks", "network", "environment",
	"readRoots",
}

// bounds lists limits, budgets and retention periods, which a workspace may only lower. The value
// of each is a function that reports which numbers mean that there is no limit.
var bounds = map[string]unlimited{
	"maxModelCalls": notPositive, "budget.tokens": notPositive, "budget.cost": notPositive,
	"toolTimeoutMs": never, "maxToolResultBytes": never, "retry.maxRetries": never,
	"maxQueue": never, "tools.maxParallel": never, "project.maxBytes": never,
	"memory.inject":      never,
	"subagents.maxDepth": never, "subagents.maxTasks": never, "subagents.concurrency": never,
	"sessions.maxAgeDays": notPositive, "sessions.maxBytes": notPositive,
	"checkpoints.maxAgeDays": notPositive, "checkpoints.maxBytes": notPositive,
}

// switches lists settings that a workspace may only turn off.
var switches = []string{"memory.enabled"}

// filtered lists keys for which a function keeps the permitted part of the value.
var filtered = []string{
	"permissions.rules", "modes", "agents", "project.instructions", "tools.enable", "tools.disable",
}

// conversation lists keys that affect only the conversation. A workspace may set them.
var conversation = []string{
	"model", "titleModel", "fallbackModels", "windows", "sampling", "thinking", "thinkingBudgets",
	"toolChoice",
	"cacheKey", "systemPrompt", "instructions", "tools.deferBytes", "tools.stopAfter",
	"retry.initialDelayMs", "retry.maxDelayMs", "steeringMode", "followUpMode", "context",
	"diagnostics", "follow",
}

// untilTrusted is the part of a notice that describes how the user can make an ignored value take
// effect.
const untilTrusted = "until you trust the workspace (agent-lsp trust yes)"

// ranks order values from strict to loose. Only the user may loosen a setting.
var ranks = map[string][]string{
	"editPolicy":          {"ask,confirm,collect", "review", "auto"},
	"permissions.profile": {"readOnly", "ask", "workspace", "trust"},
	"sandbox":             {"require", "auto", "off"},
}

// restrict removes the values that a layer other than the user's own may not set. base contains the
// values of the user's own layers so far. It returns the values that would take effect if the user
// trusted the workspace.
func (c *checker) restrict(tree, base map[string]any) (held []Claimed) {
	const why = "only the user may set this; ignored " + untilTrusted
	for _, path := range privileged {
		if v, ok := lookup(tree, path); ok {
			remove(tree, path)
			if own, ok := lookup(base, path); ok && reflect.DeepEqual(v, own) {
				continue // the client repeats a value that the user has set
			}
			c.note(path, why)
			held = append(held, Claimed{path, v})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(ranks)) {
		v, ok := lookup(tree, path)
		was, _ := lookup(base, path)
		if ok && rank(path, v) > rank(path, was) {
			remove(tree, path)
			c.note(path, "%v would allow more than the user's own %v; ignored "+untilTrusted, v,
				was)
			held = append(held, Claimed{path, v})
		}
	}
	held = append(held, c.restrictBounds(tree, base)...)
	for _, restrict := range []func(tree, base map[string]any) []Claimed{
		c.restrictRules, c.restrictModes, c.restrictAgents, c.restrictTools, c.restrictInstructions,
	} {
		held = append(held, restrict(tree, base)...)
	}
	return held
}

// refuse removes the values that a session cannot set from a session's own config. A client may
// repeat the value that is already in effect, because it may send back the config that it received.
func (c *checker) refuse(tree, below map[string]any) {
	for _, path := range sessionsMayNotSet {
		v, ok := lookup(tree, path)
		if !ok {
			continue
		}
		remove(tree, path)
		now, _ := lookup(below, path)
		set, isObject := v.(map[string]any)
		if was, both := now.(map[string]any); isObject && both {
			v = merge(was, set)
		}
		if !reflect.DeepEqual(v, now) {
			c.note(path, "a session cannot set this; change it in your own settings")
		}
	}
}

// storable returns a session's own config without the keys that a session cannot set. Such keys
// never take effect, and a stored key would cause the same notice whenever the session is loaded.
func storable(own json.RawMessage) json.RawMessage {
	tree, err := parse(own)
	if err != nil {
		return own
	}
	found := false
	for _, path := range sessionsMayNotSet {
		if _, ok := lookup(tree, path); ok {
			remove(tree, path)
			found = true
		}
	}
	if !found {
		return own
	}
	kept, err := json.Marshal(tree)
	if err != nil {
		return own
	}
	return kept
}

// restrictAgents removes looser profiles, allow rules and higher limits for model calls from
// agents, and keeps everything else. It replaces the list, because other trees share it.
func (c *checker) restrictAgents(tree, base map[string]any) (held []Claimed) {
	list, _ := tree["agents"].([]any)
	if list == nil {
		return nil
	}
	list = slices.Clone(list)
	for i, v := range list {
		agent, _ := v.(map[string]any)
		calls, ok := agent["maxModelCalls"]
		if ok && bounds["maxModelCalls"].raises("maxModelCalls", calls, base) {
			path := fmt.Sprintf("agents[%d].maxModelCalls", i)
			c.note(path, raised, calls)
			held = append(held, Claimed{path, calls})
			agent = maps.Clone(agent)
			delete(agent, "maxModelCalls")
			list[i] = agent
		}
		permissions, _ := agent["permissions"].(map[string]any)
		if kept, looser := tightening(permissions, base); looser {
			path := fmt.Sprintf("agents[%d].permissions", i)
			c.note(path, "parts that allow more than your own settings are ignored "+untilTrusted)
			held = append(held, Claimed{path, permissions})
			agent = maps.Clone(agent)
			agent["permissions"] = kept
			list[i] = agent
		}
	}
	tree["agents"] = list
	return held
}

// tightening returns a copy of permissions without allow rules, and without the profile if it is
// looser than the user's profile. It reports whether it removed anything.
func tightening(permissions, base map[string]any) (kept map[string]any, looser bool) {
	kept = maps.Clone(permissions)
	own, _ := lookup(base, "permissions.profile")
	profile, ok := permissions["profile"]
	if ok && rank("permissions.profile", profile) > rank("permissions.profile", own) {
		delete(kept, "profile")
		looser = true
	}
	rules, _ := permissions["rules"].([]any)
	strict := slices.DeleteFunc(slices.Clone(rules), func(r any) bool {
		s, _ := r.(string)
		return !strings.HasPrefix(s, "deny ") && !strings.HasPrefix(s, "ask ")
	})
	if len(strict) < len(rules) {
		kept["rules"] = strict
		looser = true
	}
	return kept, looser
}

func rank(path string, v any) int {
	s, _ := v.(string)
	return slices.IndexFunc(ranks[path],
		func(r string) bool { return slices.Contains(strings.Split(r, ","), s) })
}

// restrictRules keeps the user's rules and adds the layer's deny and ask rules.
func (c *checker) restrictRules(tree, base map[string]any) (held []Claimed) {
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
			held = []Claimed{{path, v}}
		}
	}
	if held != nil {
		c.note(path, "allow rules are ignored "+untilTrusted)
	}
	tree["permissions"].(map[string]any)["rules"] = rules
	return held
}

// restrictModes removes the edit policy and the permissions from modes.
func (c *checker) restrictModes(tree, _ map[string]any) (held []Claimed) {
	modes, _ := tree["modes"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		mode, _ := modes[name].(map[string]any)
		for _, key := range []string{"editPolicy", "permissions"} {
			if v, ok := mode[key]; ok {
				delete(mode, key)
				c.note("modes."+name+"."+key, "only the user may set this; ignored "+untilTrusted)
				held = append(held, Claimed{"modes." + name + "." + key, v})
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

// merge returns low overridden by high. It merges objects by key. All other values of high replace
// those of low. It changes neither argument.
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

// clone returns a copy of a tree that shares no object with it. The copy shares lists, because they
// are not changed.
func clone(tree map[string]any) map[string]any {
	out := make(map[string]any, len(tree))
	for k, v := range tree {
		if sub, ok := v.(map[string]any); ok {
			v = clone(sub)
		}
		out[k] = v
	}
	return out
}
