package tool

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// Registry is the set of tools that a session offers. Names and aliases are case-insensitive. It is
// safe for concurrent use, and no method blocks. Changes take effect at the next model call. The
// read-only methods treat a nil Registry as empty.
type Registry struct {
	mu     sync.RWMutex
	tools  map[string]*Entry // by lower-case name
	byName map[string]*Entry // by lower-case name and alias
	sorted []*Entry          // by name; nil after a change
}

// Entry is a registered tool.
type Entry struct {
	Tool   Tool
	Spec   Spec // the registry's copy, in which Deferred is false after Send
	schema *schema
}

// Read decodes call.Args into call.Object, and corrects the names and types of parameters in both
// to fit the schema. If that is not possible, it returns at most MaxProblems problems for the model
// and leaves call unchanged.
func (e *Entry) Read(call *Call) []string {
	args, object, problems := e.schema.prepare(call.Args)
	if n := len(problems) - MaxProblems; n > 0 {
		problems = append(problems[:MaxProblems:MaxProblems], fmt.Sprintf("and %d more", n))
	}
	if len(problems) == 0 {
		call.Args, call.Object = args, object
	}
	return problems
}

// NewRegistry returns a registry of the given tools.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{tools: map[string]*Entry{}, byName: map[string]*Entry{}}
	return r, r.Add(tools...)
}

// Add registers tools. It returns an error if a tool has no name, or a name that another tool
// already has. It still adds the other tools. If an alias is taken, the first owner keeps it.
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
	e := &Entry{Tool: t, Spec: spec, schema: newSchema(spec)}
	r.tools[key], r.sorted = e, nil
	return nil
}

// index rebuilds byName. It adds real names first, then aliases in the order of the tools.
func (r *Registry) index() {
	clear(r.byName)
	for key, e := range r.tools {
		r.byName[key] = e
	}
	for _, e := range r.inOrder() {
		for _, a := range e.Spec.Aliases {
			if key := strings.ToLower(a); r.byName[key] == nil {
				r.byName[key] = e
			}
		}
	}
}

func (r *Registry) inOrder() []*Entry {
	if r.sorted == nil {
		r.sorted = make([]*Entry, 0, len(r.tools))
		for _, e := range r.tools {
			r.sorted = append(r.sorted, e)
		}
		slices.SortFunc(r.sorted, func(a, b *Entry) int {
			return strings.Compare(a.Spec.Name,
				b.Spec.Name)
		})
	}
	return r.sorted
}

// channelSuffix is a control token that some models append to a tool's name.
var channelSuffix = lazyregexp.New(`<\|[^|]*\|>.*$`)

// Get returns the tool with this name or alias.
func (r *Registry) Get(name string) (Tool, bool) {
	if e := r.Lookup(name); e != nil {
		return e.Tool, true
	}
	return nil, false
}

// Lookup returns the entry of the tool with this name or alias, or nil.
func (r *Registry) Lookup(name string) *Entry {
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
		names = append(names, e.Spec.Name)
	}
	return names
}

func (r *Registry) list() []*Entry {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inOrder()
}

// Send clears Deferred for the named tools, so that the model gets them from the next call on.
func (r *Registry) Send(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range names {
		if e := r.tools[strings.ToLower(n)]; e != nil {
			e.Spec.Deferred = false
		}
	}
}

// Specs returns the specs of all tools, sorted by name. Deferred is false after Send.
func (r *Registry) Specs() []Spec {
	var specs []Spec
	for _, e := range r.list() {
		specs = append(specs, e.Spec)
	}
	return specs
}

// Active returns the tools that the model gets. First come the tools that are not deferred, then
// the deferred ones whose lower-case names are in loaded. With this order, loading a tool does not
// change the beginning of the list, which the provider has cached.
func (r *Registry) Active(loaded map[string]bool) []*Entry {
	list := r.list()
	active := make([]*Entry, 0, len(list))
	for _, deferred := range []bool{false, true} {
		for _, e := range list {
			if e.Spec.Deferred == deferred && (!deferred || loaded[strings.ToLower(e.Spec.Name)]) {
				active = append(active, e)
			}
		}
	}
	return active
}
