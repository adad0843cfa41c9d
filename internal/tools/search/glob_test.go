package search

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no string
	}{
		{"*.go", "a.go b/c/d.go .go", "a.gox go"},
		{"./*.go", "a.go", "a.c"},
		{"src/*.go", "src/a.go", "a.go src/x/a.go"},
		{"src/**/*.go", "src/a.go src/x/y/a.go", "a.go srcx/a.go"},
		{"**/x/**", "x/a a/x/b/c", "x a/x"},
		{"a/", "a/b a/b/c", "b/a"},
		{"**", "a a/b", ""},
		{"/*.go", "a.go", "b/a.go"},
		{"a?c", "abc aéc z/abc", "ac abbc"},
		{"[a-c]x", "ax cx", "dx x"},
		{"[!a-c]x", "dx", "ax"},
		{"[]x]", "] x", "y"},
		{"[ab", "[ab", "a"},
		{"*.{ts,tsx}", "a.ts b/c.tsx", "a.js"},
		{"{a,b/{c,d}}/x", "a/x b/c/x b/d/x", "c/x b/x"},
		{`\*x`, "*x", "ax"},
		{"a{b}", "a{b}", "ab"},
		{"*a*b*c", "xaxbxc abc", "abx"},
		{"x/**/y/**/z", "x/y/z x/1/y/2/3/z", "x/z y/x/z"},
	} {
		g, err := CompileGlob(c.pattern)
		if err != nil {
			t.Fatalf("%s: %v", c.pattern, err)
		}
		for _, p := range strings.Fields(c.yes) {
			if !g.Match(p) {
				t.Errorf("%q should match %q", c.pattern, p)
			}
		}
		for _, p := range strings.Fields(c.no) {
			if g.Match(p) {
				t.Errorf("%q should not match %q", c.pattern, p)
			}
		}
	}
}

// Patterns that make a naive matcher take for ever.
func TestGlobBounded(t *testing.T) {
	start := time.Now()
	for _, pattern := range []string{strings.Repeat("*a", 300) + "b", strings.Repeat("**/a*/", 100) + "b"} {
		g, err := CompileGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if g.Match(strings.Repeat("a", 2000)) || g.Match(strings.Repeat("aa/", 300)+"c") {
			t.Error("matched")
		}
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
	for _, pattern := range []string{strings.Repeat("{a,b}", 60), strings.Repeat("x", 2000), strings.Repeat("{a,", 300)} {
		if _, err := CompileGlob(pattern); err != nil && !errors.Is(err, ErrGlobTooLong) {
			t.Errorf("%.20s: %v", pattern, err)
		}
	}
}

func TestRules(t *testing.T) {
	rs := parseRules("/r", "\ufeff# note\n*.log\n!keep.log\nbuild/\n/top\r\na/b\ndoc/**/x\n\\#hash\n\\!bang\ntrail   \nsp\\ \n*.tm[pq]\n**/deep\n")
	for _, c := range []struct {
		path string
		dir  bool
		want verdict
	}{
		{"x.log", false, ignored}, {"s/x.log", false, ignored}, {"s/keep.log", false, wanted},
		{"build", true, ignored}, {"build", false, undecided}, {"s/build", true, ignored},
		{"top", false, ignored}, {"s/top", false, undecided},
		{"a/b", false, ignored}, {"s/a/b", false, undecided},
		{"doc/x", false, ignored}, {"doc/1/2/x", false, ignored}, {"doc/y", false, undecided},
		{"#hash", false, ignored}, {"!bang", false, ignored}, {"note", false, undecided},
		{"trail", false, ignored}, {"q.tmp", false, ignored}, {"q.tmr", false, undecided},
		{"deep", false, ignored}, {"s/deep", true, ignored},
	} {
		name := c.path[strings.LastIndex(c.path, "/")+1:]
		if got := rs.decide("/r/"+c.path, name, c.dir); got != c.want {
			t.Errorf("%s: %v, want %v", c.path, got, c.want)
		}
	}
}
