package mcp

import (
	"maps"
	"testing"
)

// Disabled servers do not run, and Apply does nothing if the list is unchanged.
func TestDefinitionsApply(t *testing.T) {
	var d Definitions[string]
	var applied []map[string]string
	apply := func(list map[string]string) {
		d.Apply(func() map[string]string { return list },
			func(def string) bool { return def == "off" },
			func(m map[string]string) { applied = append(applied, m) })
		if !d.Applied(list) {
			t.Errorf("%v is treated as a change after it was applied", list)
		}
	}
	list := map[string]string{"files": "new", "web": "web", "gone": "off"}
	if d.Applied(list) {
		t.Error("the list is treated as applied before it was applied")
	}
	apply(list)
	want := map[string]string{"files": "new", "web": "web"}
	if len(applied) != 1 || !maps.Equal(applied[0], want) {
		t.Fatalf("applied %v, want %v", applied, want)
	}
	apply(maps.Clone(list)) // an equal list in a different map
	if len(applied) != 1 {
		t.Errorf("applied again without a change: %v", applied)
	}
	for _, c := range []struct {
		name, def string
		runs      bool
	}{
		{"files", "new", true}, {"files", "old", false},
		{"gone", "off", false}, {"none", "", false},
	} {
		if runs := d.Runs(c.name, c.def); runs != c.runs {
			t.Errorf("%s as %s: runs %v", c.name, c.def, runs)
		}
	}
	apply(map[string]string{"files": "old"})
	if len(applied) != 2 || applied[1]["files"] != "old" {
		t.Errorf("after a change: %v", applied)
	}
}
