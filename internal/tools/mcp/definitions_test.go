package mcp

import (
	"maps"
	"testing"
)

// The later list wins, disabled servers do not run, and nothing is applied without a change.
func TestDefinitionsMerge(t *testing.T) {
	var d Definitions[string]
	var applied []map[string]string
	merge := func(lists ...map[string]string) {
		d.Merge(func() []map[string]string { return lists },
			func(def string) bool { return def == "off" },
			func(m map[string]string) { applied = append(applied, m) })
	}
	user := map[string]string{"files": "old", "web": "web", "gone": "off"}
	merge(user, map[string]string{"files": "new"})
	want := map[string]string{"files": "new", "web": "web"}
	if len(applied) != 1 || !maps.Equal(applied[0], want) {
		t.Fatalf("applied %v, want %v", applied, want)
	}
	merge(user, map[string]string{"files": "new"}) // another map that says the same
	if len(applied) != 1 {
		t.Errorf("applied again without a change: %v", applied)
	}
	for _, c := range []struct {
		name, def  string
		runs, same bool
	}{{"files", "new", true, true}, {"files", "old", true, false}, {"gone", "off", false, false}} {
		if runs, same := d.Running(c.name, c.def); runs != c.runs || same != c.same {
			t.Errorf("%s as %s: runs %v, same %v", c.name, c.def, runs, same)
		}
	}
	merge(user)
	if len(applied) != 2 || applied[1]["files"] != "old" {
		t.Errorf("after a session ends: %v", applied)
	}
}
