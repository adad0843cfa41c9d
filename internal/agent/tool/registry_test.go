package tool

import (
	"context"
	"strings"
	"testing"
)

// namedTool is a tool that cannot be called.
type namedTool Spec

func named(name string) *namedTool { return &namedTool{Name: name} }

func (n *namedTool) Spec() Spec { return Spec(*n) }

func (n *namedTool) Prepare(context.Context, *Call) (*Prepared, error) { panic("not called") }

// TestRegistry checks names, aliases, letter case and duplicates.
func TestRegistry(t *testing.T) {
	one := named("Read")
	one.Aliases = []string{"cat", "write"}
	reg, err := NewRegistry(one, named("write"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"read": "Read", "CAT": "Read", "Write": "write",
		"read<|channel|>x": "Read"} {
		if got, ok := reg.Get(name); !ok || got.Spec().Name != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if reg.Add(named("READ")) == nil || reg.Add(named("")) == nil {
		t.Error("a duplicate or nameless tool was accepted")
	}
	if reg, err = NewRegistry(one); err != nil || strings.Join(reg.Names(), " ") != "Read" {
		t.Error(err, reg.Names())
	}
	if got, ok := reg.Get("write"); !ok || got.Spec().Name != "Read" {
		t.Error("the alias of a tool does not find the tool")
	}
}
