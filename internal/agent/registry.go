package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// Registry holds the tools that a session offers. Names and aliases are looked up
// without regard to case. Safe for concurrent use; changes count from the next model call.
type Registry struct {
	mu     sync.RWMutex
	tools  map[string]*registered // by lower-case name
	byName map[string]*registered // by lower-case name and alias
	sorted []*registered          // by name; nil after a change
}

type registered struct {
	tool   Tool
	spec   Spec
	schema *argSchema
}

// NewRegistry returns a registry of the given tools.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{tools: map[string]*registered{}, byName: map[string]*registered{}}
	return r, r.Add(tools...)
}

// Add registers tools. A tool without a name, or with a name that is taken, is an error;
// the others are added all the same. An alias that is taken is left to its owner.
func (r *Registry) Add(tools ...Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first error
	for _, t := range tools {
		if err := r.add(t); err != nil && first == nil {
			first = err
		}
	}
	r.index()
	return first
}

func (r *Registry) add(t Tool) error {
	spec := t.Spec()
	key := strings.ToLower(spec.Name)
	if key == "" {
		return fmt.Errorf("adding a tool: it has no name")
	}
	if r.tools[key] != nil {
		return fmt.Errorf("adding tool %s: the name is taken", spec.Name)
	}
	e := &registered{tool: t, spec: spec, schema: newArgSchema(spec)}
	r.tools[key], r.sorted = e, nil
	return nil
}

// index rebuilds byName: real names first, then aliases in the tools' order.
func (r *Registry) index() {
	clear(r.byName)
	for key, e := range r.tools {
		r.byName[key] = e
	}
	for _, e := range r.inOrder() {
		for _, a := range e.spec.Aliases {
			if key := strings.ToLower(a); r.byName[key] == nil {
				r.byName[key] = e
			}
		}
	}
}

func (r *Registry) inOrder() []*registered {
	if r.sorted == nil {
		r.sorted = make([]*registered, 0, len(r.tools))
		for _, e := range r.tools {
			r.sorted = append(r.sorted, e)
		}
		slices.SortFunc(r.sorted, func(a, b *registered) int { return strings.Compare(a.spec.Name, b.spec.Name) })
	}
	return r.sorted
}

// channelSuffix is what some models leave on a tool's name.
var channelSuffix = lazyregexp.New(`<\|[^|]*\|>.*$`)

// Get returns the tool that goes by name or alias.
func (r *Registry) Get(name string) (Tool, bool) {
	if e := r.lookup(name); e != nil {
		return e.tool, true
	}
	return nil, false
}

func (r *Registry) lookup(name string) *registered {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e := r.byName[strings.ToLower(name)]; e != nil {
		return e
	}
	bare := strings.TrimSpace(channelSuffix().ReplaceAllString(name, ""))
	return r.byName[strings.ToLower(bare)]
}

// Names returns the tools' names, sorted.
func (r *Registry) Names() []string {
	var names []string
	for _, e := range r.list() {
		names = append(names, e.spec.Name)
	}
	return names
}

func (r *Registry) list() []*registered {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inOrder()
}

// Send makes deferred tools be sent whole from the next model call on, whatever their Spec says.
func (r *Registry) Send(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range names {
		if e := r.tools[strings.ToLower(n)]; e != nil {
			e.spec.Deferred = false
		}
	}
}

// Specs returns what is known of the tools, sorted by name; Deferred is false after Send.
func (r *Registry) Specs() []Spec {
	var specs []Spec
	for _, e := range r.list() {
		specs = append(specs, e.spec)
	}
	return specs
}

// specs returns what the model is told: every tool but the deferred ones that are not active.
// Those that are stand at the end, so that loading one leaves the beginning as the provider
// has it in its cache.
func (r *Registry) specs(active map[string]bool) []ToolSpec {
	list := r.list()
	specs := make([]ToolSpec, 0, len(list))
	for _, deferred := range []bool{false, true} {
		for _, e := range list {
			if e.spec.Deferred != deferred || deferred && !active[strings.ToLower(e.spec.Name)] {
				continue
			}
			specs = append(specs, ToolSpec{
				Name: e.spec.Name, Description: e.spec.Description, Schema: e.spec.Schema,
				Strict: e.spec.Strict, Deferred: deferred,
			})
		}
	}
	return specs
}
