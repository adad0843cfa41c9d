package mcp

import (
	"reflect"
	"sync"
)

// Definitions is the set of running servers. D is the type of a server's definition. Callers must
// not change a map of definitions after they have passed it. The zero value is ready for use.
// Definitions is safe for concurrent use.
type Definitions[D any] struct {
	applying sync.Mutex // one change at a time

	mu      sync.Mutex
	list    map[string]D // the definitions that were last applied
	running map[string]D // the entries of list that are not disabled
}

// Apply calls collect and drops the servers for which disabled returns true. If the remaining
// servers differ from the running ones, it calls the function apply with them. Calls of collect and
// apply do not overlap, and neither of them may call the method Apply.
func (d *Definitions[D]) Apply(
	collect func() map[string]D,
	disabled func(D) bool,
	apply func(map[string]D),
) {
	d.applying.Lock()
	defer d.applying.Unlock()
	list := collect()
	if d.Applied(list) {
		return
	}
	running := map[string]D{}
	for name, def := range list {
		if !disabled(def) {
			running[name] = def
		}
	}
	d.mu.Lock()
	same := reflect.DeepEqual(d.running, running)
	d.list, d.running = list, running
	d.mu.Unlock()
	if !same {
		apply(running)
	}
}

// Applied reports whether list is the map that was applied last. It compares the maps by identity,
// not by content.
func (d *Definitions[D]) Applied(list map[string]D) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return reflect.ValueOf(list).UnsafePointer() == reflect.ValueOf(d.list).UnsafePointer()
}

// Runs reports whether a server with this name and definition is running.
func (d *Definitions[D]) Runs(name string, def D) bool {
	d.mu.Lock()
	running, ok := d.running[name]
	d.mu.Unlock()
	return ok && reflect.DeepEqual(running, def)
}
