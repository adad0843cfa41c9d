package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Kind identifies a layer. The lowest layer is first.
type Kind int

// The layers of settings (docs/reference/configuration.md).
const (
	Builtin Kind = iota
	UserFile
	WorkspaceFile
	Environment
	Flags
	Initialization
	ClientConfig // workspace/didChangeConfiguration
	Session
)

var kindNames = [...]string{"built-in", "user file", "workspace file", "environment", "flags",
	"initializationOptions", "editor settings", "session"}

func (k Kind) String() string { return kindNames[k] }

// layer is one layer before validation.
type layer struct {
	kind   Kind
	source string // path of the layer's file, if it has one
	tree   map[string]any
	mine   map[string]any // the part that the client marks as the user's own
	all    bool           // whether the whole layer is the user's own
	marked bool           // whether the client marks which part is the user's own
	broken []Notice
}

func (l *layer) name() string {
	if l.source != "" {
		return l.kind.String() + " " + l.source
	}
	return l.kind.String()
}

// Set is the combination of the layers. It is immutable. With returns a new Set. A Set is safe for
// concurrent use.
type Set struct {
	layers []layer
	trust  verdict

	tree    map[string]any
	origin  []applied
	notices []Notice
	claims  []Claim
	held    []string
	config  *Config
}

// applied contains the values that a layer contributed.
type applied struct {
	name string
	kind Kind
	tree map[string]any
}

// Config returns the settings in force. The caller must not change them.
func (s *Set) Config() *Config { return s.config }

// Notices returns the settings that were ignored and the reasons, for the user.
func (s *Set) Notices() []Notice { return s.notices }

// NeedsTrust returns the keys that a layer other than the user's own sets and that would take
// effect if the user trusted the workspace. If there are none, the user does not need to be asked.
func (s *Set) NeedsTrust() []string { return s.held }

// With returns the set with one layer replaced by raw, a Config that the client sent. A Config of
// kind Initialization or ClientConfig may be nested in a section agentLsp, and may contain
// userSettings, which are the user's own Config (see believe). If raw is empty or null, the layer
// is removed. Values that cannot be read become notices.
func (s *Set) With(kind Kind, raw json.RawMessage) *Set {
	l := layer{kind: kind, all: kind == Flags || kind == Session}
	tree, err := parse(raw)
	if err != nil {
		l.broken = []Notice{{Layer: l.name(), Text: "cannot be read and is ignored: " + err.Error(),
			Invalid: true}}
	}
	if kind == Initialization || kind == ClientConfig {
		tree = l.unwrap(tree)
	}
	l.tree = tree
	layers := make([]layer, 0, len(s.layers)+1)
	for _, old := range s.layers {
		if old.kind < kind {
			layers = append(layers, old)
		}
	}
	layers = append(layers, l)
	for _, old := range s.layers {
		if old.kind > kind {
			layers = append(layers, old)
		}
	}
	return build(layers, s.trust)
}

// unwrap extracts the section and the user's own part from the settings that a client sent.
func (l *layer) unwrap(tree map[string]any) map[string]any {
	if section, ok := tree["agentLsp"].(map[string]any); ok {
		tree = section
	}
	out := make(map[string]any, len(tree))
	for k, v := range tree {
		out[k] = v
	}
	mine, marked := out["userSettings"]
	l.marked = marked
	delete(out, "userSettings")
	switch mine := mine.(type) {
	case map[string]any:
		l.mine = mine
	case bool:
		l.all = mine
	}
	if !marked && l.kind == Initialization {
		l.all = true
	}
	return out
}

// believe ignores the mark of later settings unless the client has also marked its first ones. Some
// editors, such as Emacs with .dir-locals.el, read later settings from files of the workspace.
// Without this check, such a file could pass its settings off as the user's own.
func (l *layer) believe(layers []layer) {
	first := slices.IndexFunc(layers, func(o layer) bool { return o.kind == Initialization })
	if l.kind != ClientConfig || first >= 0 && layers[first].marked {
		return
	}
	l.tree = merge(l.mine, l.tree)
	l.mine, l.all = nil, false
}

// build validates and merges layers.
func build(layers []layer, trust verdict) *Set {
	s := &Set{layers: layers, trust: trust, tree: map[string]any{}}
	base := map[string]any{} // values from the user's own layers
	for _, own := range layers {
		l := &own
		l.believe(layers)
		s.notices = append(s.notices, l.broken...)
		c := checker{layer: l.name()}
		tree := c.object(l.tree, configType, "")
		mine := c.object(l.mine, configType, "")
		if l.kind == Session {
			c.refuse(tree, s.tree)
		}
		base = merge(base, mine)
		if l.all || s.claim(&c, l, tree, base) {
			base = merge(base, tree)
		}
		tree = merge(mine, tree)
		s.tree = merge(s.tree, tree)
		s.origin = append(s.origin, applied{name: l.name(), kind: l.kind, tree: tree})
		s.notices = append(s.notices, c.notices...)
	}
	s.config = s.decode()
	s.config.chosen = chosenIn(base)
	return s
}

// claim removes from a layer the values that only the user may set, unless the user trusts exactly
// these values. It reports whether the whole layer is treated as the user's own.
func (s *Set) claim(c *checker, l *layer, tree, base map[string]any) (trusted bool) {
	restricted := checker{layer: c.layer}
	kept := clone(tree)
	held := restricted.restrict(kept, base)
	if len(held) > 0 {
		claim := Claim{Layer: l.kind.String(), Source: l.source, Settings: held}
		trusted = s.trust.trusts(&claim)
		s.claims = append(s.claims, claim)
	}
	if trusted {
		return true
	}
	c.notices = append(c.notices, restricted.notices...)
	clear(tree)
	maps.Copy(tree, kept)
	for _, h := range held {
		s.held = append(s.held, h.Path)
	}
	return false
}

// decode decodes the merged tree, whose values have already been validated, into the struct.
func (s *Set) decode() *Config {
	config := new(Config)
	b, err := json.Marshal(s.tree)
	if err == nil {
		err = json.Unmarshal(b, config)
	}
	if err != nil {
		s.notices = append(s.notices, Notice{Layer: "settings",
			Text: fmt.Sprintf("cannot be merged: %v", err)})
	}
	return config
}

// Patch applies patch to a session's own config and returns the result. A null value removes a key.
func Patch(own, patch json.RawMessage) (json.RawMessage, error) {
	low, err := parse(own)
	if err != nil {
		return nil, fmt.Errorf("reading the session's config: %w", err)
	}
	high, err := parse(patch)
	if err != nil {
		return nil, fmt.Errorf("reading config: %w", err)
	}
	merged := merge(low, high)
	dropNull(merged)
	return json.Marshal(merged)
}

func dropNull(tree map[string]any) {
	for k, v := range tree {
		if v == nil {
			delete(tree, k)
		} else if sub, ok := v.(map[string]any); ok {
			dropNull(sub)
		}
	}
}
