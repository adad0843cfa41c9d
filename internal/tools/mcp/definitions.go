package mcp

import (
	"reflect"
	"slices"
	"sync"
)

// Definitions merges the servers that several sessions define into those that run. D is the
// definition of a server, and its maps must not be changed once they are passed. The zero value is
// ready for use. Safe for concurrent use.
type Definitions[D any] struct {
	merging sync.Mutex     // one change at a time; guards lists
	lists   []map[string]D // as they were last merged

	mu      sync.Mutex
	running map[string]D
}

// Merge merges lists of servers by name, without those that disabled reports, and calls apply if
// the result differs from the servers that run. If two lists define the same name, the later list
// wins. Calls of apply do not overlap, and apply must not call Merge.
func (d *Definitions[D]) Merge(
	collect func() []map[string]D,
	disabled func(D) bool,
	apply func(map[string]D),
) {
	d.merging.Lock()
	defer d.merging.Unlock()
	lists := collect()
	if slices.EqualFunc(lists, d.lists, SameMap) {
		return
	}
	d.lists = lists
	merged := map[string]D{}
	for _, list := range lists {
		for name, def := range list {
			if !disabled(def) {
				merged[name] = def
			}
		}
	}
	d.mu.Lock()
	same := reflect.DeepEqual(d.running, merged)
	d.running = merged
	d.mu.Unlock()
	if !same {
		apply(merged)
	}
}

// Running reports whether a server of that name runs, and whether it is the one that def defines.
func (d *Definitions[D]) Running(name string, def D) (runs, same bool) {
	d.mu.Lock()
	running, runs := d.running[name]
	d.mu.Unlock()
	return runs, runs && reflect.DeepEqual(running, def)
}

// SameMap reports whether two maps are one and the same, without a look at what they hold.
func SameMap[D any](a, b map[string]D) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}
