package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestALargePartNeedsAReason(t *testing.T) {
	if got := failures([]large{{text: "package a: 5000 lines"}}); len(got) != 1 {
		t.Errorf("without a reason: %q", got)
	}
	var found []large
	for range maxExceptions { // exceptions with the same reason are counted separately
		found = append(found, large{text: "a", reason: wireReason})
	}
	if got := failures(found); len(got) != 0 {
		t.Errorf("as many exceptions as are allowed: %q", got)
	}
	found = append(found, large{text: "d", reason: wireReason})
	if got := failures(found); len(got) != 1 || !strings.Contains(got[0], "11 exceptions") {
		t.Errorf("one too many: %q", got)
	}
}

func TestADirectiveGivesTheReason(t *testing.T) {
	const src = `package p

// T is large.
//
//house:large because
type T struct{}

// U mirrors JSON.
//
//house:wire
type U struct{}

type V struct{}
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comments := typeComments([]*ast.File{file})
	r := &reporter{used: map[*ast.Comment]bool{}}
	for _, name := range []string{"T", "U", "V"} {
		r.add(comments[name], "%s", name)
	}
	want := []large{{"T", "because"}, {"U", wireReason}, {"V", ""}}
	for i, l := range r.found {
		if l != want[i] {
			t.Errorf("%+v, want %+v", l, want[i])
		}
	}
}
