package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var _ = documents("ls", fmt.Sprintf("%d entries, %d levels", lsEntries, lsDepth))

func TestGrep(t *testing.T) {
	h := newHarness(t).files("a.go: package a\n\nfunc Alpha() {}\nfunc Beta() {}\n",
		"sub/b.go: package b\n// func in a comment\n", "sub/c.txt: func\r\n", ".hid/x.go: func\n",
		"bin: func\x00")
	h.open("sub/c.txt", "unsaved func\nsecond\n")
	for _, c := range []struct {
		name string
		args args
		want []string
	}{
		{"all", args{"pattern": "func"},
			[]string{"a.go\n3:func Alpha() {}\n4:func Beta() {}\n\nsub/b.go\n2:// func in a comment\n\nsub/c.txt (unsaved buffer)\n1:unsaved func", "!.hid", "!bin"}},
		{"files", args{"pattern": "func", "mode": "files_with_matches"},
			[]string{"a.go\nsub/b.go\nsub/c.txt (unsaved buffer)"}},
		{"count", args{"pattern": "func", "mode": "count"}, []string{"2 a.go\n1 sub/b.go"}},
		{"one file", args{"pattern": "func B", "path": "a.go"}, []string{"a.go\n4:func Beta"}},
		{"folder", args{"pattern": "package", "path": "sub"}, []string{"sub/b.go\n1:package b"}},
		{"glob", args{"pattern": "func", "glob": "*.txt"}, []string{"sub/c.txt", "!a.go"}},
		{"context", args{"pattern": "Alpha", "context": 1},
			[]string{"2-\n3:func Alpha() {}\n4-func Beta() {}"}},
		{"hidden", args{"pattern": "func", "all": true}, []string{".hid/x.go"}},
		{"hidden by glob", args{"pattern": "func", "glob": ".hid/**"},
			[]string{".hid/x.go", "!a.go"}},
		{"limit", args{"pattern": "func", "limit": 2},
			[]string{"Stopped at 2 matches", "raise limit", "!b.go"}},
		{"none", args{"pattern": "zebra"},
			[]string{"No match for zebra in 3 files searched.", "1 binary file skipped",
				"set all"}},
		{"none by glob", args{"pattern": "func", "glob": "*.rs"},
			[]string{"No file to search here matches the glob *.rs"}},
		{"broken expression", args{"pattern": "Alpha("},
			[]string{"not a valid regular expression (missing closing )", "3:func Alpha() {}"}},
		{"two lines", args{"pattern": "a\\nb"}, []string{"ERROR: ", "line break"}},
		{"empty", args{"pattern": ""}, []string{"ERROR: the pattern is empty"}},
		{"exploding", args{"pattern": "(a{1000}){1000}"}, []string{"ERROR: ", "repeat"}},
		{"mode", args{"pattern": "x", "mode": "nope"},
			[]string{"ERROR: ", "content, files or count"}},
		{"missing folder", args{"pattern": "x", "path": "none"},
			[]string{"ERROR: ", "none does not exist. Use glob or ls"}},
		{"outside", args{"pattern": "x", "path": "../.."}, []string{"ERROR: ", "outside"}},
		{"wrong kind", args{"pattern": 7}, []string{"ERROR: reading the arguments"}},
	} {
		t.Run(c.name, func(t *testing.T) { h.t = t; want(t, h.run("grep", c.args), c.want...) })
	}
}

func TestGrepCut(t *testing.T) {
	h := newHarness(t).files("big: "+strings.Repeat("match "+strings.Repeat("é", 300)+"\n", 500),
		"small: match\n")
	got := h.run("grep", args{"pattern": "match", "limit": 1000})
	want(t, got, "[line cut]", "[Cut at 6", "use mode files")
	if len(got) > grepBytes+500 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestGlob(t *testing.T) {
	h := newHarness(t).files("a.go: x", "sub/b.go: x", "sub/deep/c.go: x", ".git/HEAD: x",
		".gitignore: out/", "out/d.go: x", ".github/w.yml: x")
	for i := range 300 {
		h.files(fmt.Sprintf("many/f%03d.txt: x", i))
	}
	if err := os.Symlink("..", filepath.Join(h.root, "sub", "loop")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args args
		want []string
	}{
		{"by ending", args{"pattern": "*.go"},
			[]string{"a.go\nsub/b.go\nsub/deep/c.go", "!out/d.go", "!loop"}},
		{"in a folder", args{"pattern": "*.go", "path": "sub"},
			[]string{"sub/b.go\nsub/deep/c.go", "!\na.go"}},
		{"absolute", args{"pattern": h.root + "/sub/*.go"}, []string{"sub/b.go", "!deep"}},
		{"dots asked for", args{"pattern": ".github/*"}, []string{".github/w.yml"}},
		{"ignored asked for", args{"pattern": "**/d.go", "all": true},
			[]string{"out/d.go", "!.git/"}},
		{"cut", args{"pattern": "many/*", "limit": 10},
			[]string{"many/f009.txt\n[10 of 300 files shown. Narrow", "!f010"}},
		{"none", args{"pattern": "*.rs"}, []string{"No file matches *.rs.", "set all"}},
		{"too many alternatives", args{"pattern": strings.Repeat("{a,b}", 30)},
			[]string{"ERROR: ", "too many"}},
		{"empty", args{"pattern": ""}, []string{"ERROR: "}},
	} {
		t.Run(c.name, func(t *testing.T) { h.t = t; want(t, h.run("glob", c.args), c.want...) })
	}
}

func TestLs(t *testing.T) {
	h := newHarness(t).files("a.go: x", ".hid: x", "sub/b.go: x", "sub/deep/c.go: x", "file: x")
	if err := os.MkdirAll(filepath.Join(h.root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.go", filepath.Join(h.root, "link")); err != nil {
		t.Fatal(err)
	}
	want(t, h.run("ls", args{}), "./ (6 entries)\n.hid\na.go\nempty/\nfile\nlink@\nsub/")
	want(t, h.run("ls", args{"path": "sub", "depth": 2}), "sub/ (3 entries)\nb.go\ndeep/\n  c.go")
	want(t, h.run("ls", args{"path": "empty"}), "empty is an empty folder.")
	want(t, h.run("ls", args{"path": "none"}), "ERROR: ")
	want(t, h.run("ls", args{"path": "a.go"}), "ERROR: ")
	for i := range 600 {
		h.files(fmt.Sprintf("many/f%03d: x", i))
	}
	want(t, h.run("ls", args{"path": "many"}), "f499\n[500 of 600 entries shown.", "!f500")
}

// Listing a folder with many entries takes bounded time and returns a bounded result. With LARGE=1,
// the folder has 100,000 entries.
func TestHugeFolder(t *testing.T) {
	t.Parallel()
	n := 10_000
	if os.Getenv("LARGE") != "" {
		n = 100_000
	}
	h := newHarness(t)
	dir := filepath.Join(h.root, "huge")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("f%06d", i)))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	start := time.Now()
	want(t, h.run("ls", args{"path": "huge"}), number(n)+" entries", "[500 of "+number(n)+
		" entries shown.")
	want(t, h.run("read", args{"path": "huge"}), "[500 of "+number(n)+" entries shown.")
	want(t, h.run("glob", args{"pattern": "huge/*9"}), "[200 of "+number(n/10)+" files shown.")
	want(t, h.run("grep", args{"pattern": "x", "path": "huge"}), number(n)+" files searched")
	t.Logf("%d entries: %v", n, time.Since(start))
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
}

// TestLabelsOfSearches checks that quotes separate a pattern from the rest of the label.
func TestLabelsOfSearches(t *testing.T) {
	h := newHarness(t).files("lib/a.go: x")
	for _, c := range []struct{ tool, args, label string }{
		{"grep", `{"pattern":"return  err"}`, `Search for "return err"`},
		{"glob", `{"pattern":"lib/*.go"}`, `Find "lib/*.go"`},
		{"ls", `{}`, "List files"},
		{"ls", `{"path":"./"}`, "List files"},
		{"ls", `{"path":"lib"}`, "List lib"},
		{"ls", `{"path":".."}`, "List .."},
	} {
		if got := h.prepared(c.tool, c.args).Label; got != c.label {
			t.Errorf("%s %s: %q, want %q", c.tool, c.args, got, c.label)
		}
	}
}

func TestFileSearch(t *testing.T) {
	h := newHarness(t).files("main.go: x", "cmd/main.go: x", "docs/maintain.md: x", ".env: x")
	paths := func(query string) string {
		var got []string
		for _, m := range h.set.FileSearch(context.Background(), query, 3) {
			rel, _ := filepath.Rel(h.root, m.Path)
			if m.URI != "" {
				rel += "*"
			}
			got = append(got, rel)
		}
		return strings.Join(got, " ")
	}
	if got := paths("main"); got != "main.go cmd/main.go docs/maintain.md" {
		t.Errorf("got %s", got)
	}
	h.open("cmd/main.go", "x")
	if got := paths("main"); got != "cmd/main.go* main.go docs/maintain.md" {
		t.Errorf("with an open document: %s", got)
	}
	if got := paths("env"); got != ".env" {
		t.Errorf("hidden: %s", got)
	}
}
