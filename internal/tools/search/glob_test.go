package search

import (
	"slices"
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
		{"**/x/**", "x/a a/x/b/c x a/x", "y/a"},
		{"a/", "a/b a/b/c", "b/a a"},
		{"**", "a a/b", ""},
		{"/*.go", "a.go", "b/a.go"},
		{"a?c", "abc aéc z/abc", "ac abbc"},
		{"[a-c]x", "ax cx", "dx x"},
		{"[!a-c]x", "dx", "ax"},
		{"[]x]", "] x", "y"},
		{`\[ab`, "[ab", "a"},
		{"[!]x]", "y", "] x"},
		{"*.{ts,tsx}", "a.ts b/c.tsx", "a.js"},
		{"{a,b/{c,d}}/x", "a/x b/c/x b/d/x", "c/x b/x"},
		{`\*x`, "*x", "ax"},
		{"a{b}", "ab", "a{b}"},
		{`a\{b\}`, "a{b}", "ab"},
		{"*a*b*c", "xaxbxc abc", "abx"},
		{"x/**/y/**/z", "x/y/z x/1/y/2/3/z", "x/z y/x/z"},
		{"!*.txt", "a.go b/c", "a.txt b/c.txt"},
		{"*.go,*.md", "a.go b/c.md", "a.txt md"},
		{"*.go, *.md", "a.go b/c.md", "a.txt"},
		{"*.go *.md", "a.go b/c.md", "a.txt"},
		{"*.go !*_test.go", "a.go b/c.go", "a_test.go b/c_test.go d.md"},
		{"!*_test.go,*.go", "a.go", "a_test.go d.md"},
		{"a !b", "a x/a", "b c b/a"},
		{"!vendor", "a.go vendored/x", "vendor vendor/x.go a/vendor/b/c.go"},
		{"!vendor/", "a.go vendor a/vendor", "vendor/x.go a/vendor/b/c.go"},
		{"!/vendor", "a/vendor/x", "vendor/x"},
		{"!src/gen", "gen/x src/a", "src/gen/x src/gen/y/z"},
		{"*.{go,md},Makefile", "a.go b.md Makefile x/Makefile", "a.c"},
		{"[a,b]x", "ax bx ,x", "cx"},
		{`a\,b`, "a,b", "a b"},
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

// A space is part of a file name unless it can only be a separator between patterns.
func TestGlobSpaces(t *testing.T) {
	for _, c := range []struct {
		glob string
		want []string
	}{
		{"My File.txt", []string{"My File.txt"}},
		{"docs/My *.txt", []string{"docs/My *.txt"}},
		{"* - copy.*", []string{"* - copy.*"}},
		{`a\ !b`, []string{`a\ !b`}},
		{"*.go  *.md ", []string{"*.go", "*.md"}},
		{"My File.txt,*.md", []string{"My File.txt", "*.md"}},
		{"My File.txt !x", []string{"My", "File.txt", "!x"}},
		{" , ", nil},
	} {
		if got := SplitGlobs(c.glob); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.glob, got, c.want)
		}
	}
}

// A glob that cannot be parsed returns an error that says what is wrong. It is never silently
// treated as a glob without matches.
func TestGlobRefused(t *testing.T) {
	for glob, want := range map[string]string{
		"": "empty", " , ": "empty", "!": "names no file", "/": "names no file",
		"[ab": "an unclosed [", "{a,b": "an unclosed [", `a\`: `a \ at the end`,
		"*.go,[": "an unclosed [", strings.Repeat("{a,b}", 60): "too many", "{" +
			strings.Repeat("{a,b,c},", 100) + "d}": "too many",
		strings.Repeat("x", 2000): "too long",
	} {
		if _, err := CompileGlob(glob); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", glob, err, want)
		}
	}
}

// TestGlobBounded matches patterns for which a naive matcher takes exponential time.
func TestGlobBounded(t *testing.T) {
	start := time.Now()
	for _, pattern := range []string{strings.Repeat("*a", 300) + "b",
		strings.Repeat("**/a*/", 100) + "b", strings.Repeat("{*a,*aa}", 8) + "b", "{" +
			strings.Repeat("*a*b,", 150) + "x}"} {
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
}

func TestRules(t *testing.T) {
	rs := parseRules("/r", "\ufeff# note\n*.log\n!keep.log\nbuild/\n/top\r\na/b\ndoc/**/x\n\\#hash\n\\!bang\ntrail   \nsp\\ \n*.tm[pq]\n**/deep\n{x,y}\nz/**\n[]]q\n[broken\n\\{e\\}\n")
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
		{"{x,y}", false, ignored}, {"x", false, undecided}, {"z", true, undecided},
		{"z/a", false, ignored}, {"z/a/b", false, ignored},
		{"]q", false, ignored}, {"[broken", false, undecided}, {"{e}", false, ignored},
	} {
		name := c.path[strings.LastIndex(c.path, "/")+1:]
		if got := rs.decide("/r/"+c.path, name, c.dir); got != c.want {
			t.Errorf("%s: %v, want %v", c.path, got, c.want)
		}
	}
}
