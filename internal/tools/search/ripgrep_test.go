//go:build unix

package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oddTree returns files that are difficult to search, because of unusual names, encodings, line
// endings or ignore files.
func oddTree() map[string]string {
	utf16 := func(order string, text string) string {
		var b strings.Builder
		for _, r := range "\ufeff" + text {
			hi, lo := byte(r>>8), byte(r)
			if order == "LE" {
				hi, lo = lo, hi
			}
			b.WriteByte(hi)
			b.WriteByte(lo)
		}
		return b.String()
	}
	files := map[string]string{
		// names
		"plain.txt":        "foo\nbar\nfoo bar\n",
		"with space.txt":   "foo\n",
		"-dash.txt":        "foo\n",
		"UPPER.TXT":        "FOO\nfoo\n",
		"ünï.txt":          "foo\n",
		"u\u0308.txt":      "foo\n",
		"日本語.md":           "foo\n",
		"[id].tsx":         "foo\n",
		"{brace}.ts":       "foo\n",
		"com,ma.txt":       "foo\n",
		"quo'te.txt":       "foo\n",
		"back\\slash.txt":  "foo\n",
		"star*.txt":        "foo\n",
		"emoji😀.txt":       "foo\n",
		"!bang.txt":        "foo\n",
		"#hash.txt":        "foo\n",
		"two..dots":        "foo\n",
		"noext":            "foo\n",
		"a.tar.gz.txt":     "foo\n",
		"trailing.":        "foo\n",
		"src/main.go":      "package main\n\nfunc main() {\n\tfoo()\n}\n",
		"src/main_test.go": "package main\n// foo\n",
		"src/deep/er/x.go": "package er // foo\n",
		"srcx/y.go":        "package y // foo\n",
		"src/src":          "foo\n",
		"docs/a.md":        "# foo\n",
		"docs/sub/b.md":    "foo\n",
		"Makefile":         "foo:\n\tbar\n",
		"sub/Makefile":     "foo:\n",
		// encodings
		"bom.txt":       "\ufefffoo at the start\nfoo\n",
		"utf16le.txt":   utf16("LE", "foo\nпривет\n"),
		"utf16be.txt":   utf16("BE", "foo\nbar\n"),
		"latin1.txt":    "caf\xe9 foo\nfoo\n",
		"broken.txt":    "\xff\xfefoo\x00\n",
		"invalid.txt":   "a\xffb\nfoo\n",
		"nul.bin":       "foo\x00bar\n",
		"late.bin":      "foo\n" + strings.Repeat("x\n", 100) + "\x00\nfoo\n",
		"surrogate.txt": "\xed\xa0\x80 foo\n",
		// lines
		"crlf.txt":    "foo\r\nbar\r\n\r\nfoo bar\r\n",
		"cr.txt":      "foo\rbar\rfoo",
		"mixed.txt":   "foo\r\nbar\nfoo\r\n",
		"empty.txt":   "",
		"newline.txt": "\n",
		"blank.txt":   "\n\n\nfoo\n\n",
		"noeol.txt":   "bar\nfoo",
		"long.txt": strings.Repeat(
			"x",
			5000,
		) + "foo" + strings.Repeat(
			"y",
			5000,
		) + "\nfoo\n",
		"big.txt": strings.Repeat(
			strings.Repeat("some text ", 200)+"\n",
			700,
		) + "foo at the end\n",
		"tabs.txt": "\tfoo\n  foo\nfoo\t\n",
		"feed.txt": "foo\ffoo\vbar\n",
		"seps.txt": "foo\u2028bar\u0085baz\n",
		// words
		"cyrillic.txt": "привет\nпривет, мир\nприветик\nПРИВЕТ\n",
		"accents.txt":  "café\ncafe\u0301\ncaf\nétafoo\nfooé\n",
		"cjk.txt":      "日本語\n日本 語\n",
		"digits.txt":   "123\n٣٤\n²\n1a\n",
		"greek.txt":    "Σίσυφος\nσίσυφοσ\n",
		"snake.txt":    "foo_bar\nfoo-bar\nfooBar\n_foo_\n",
		"kelvin.txt":   "\u212a\nk\nK\n",
		"long-s.txt":   "ſ\ns\n",
		"dotless.txt":  "ı\nİ\ni\nI\n",
		"spaces.txt":   "a b\na\u00a0b\na\u3000b\na\u200bb\n",
		"punct.txt":    "a.b*c[d]e(f)g{h}\\i^j$k|l?m+n\n",
		// ignore files
		".gitignore":         "*.log\n!keep.log\n/top\nbuild/\nsub/only.txt\n**/cache\n\\#note\ntrail   \n*.tm[pq]\nnested/**\n!nested/keep.txt\n!.shown\n!.github/\n",
		".ignore":            "*.skip\n",
		".git/HEAD":          "foo\n",
		".git/info/exclude":  "excluded.txt\n",
		"x.log":              "foo\n",
		"keep.log":           "foo\n",
		"top":                "foo\n",
		"sub/top":            "foo\n",
		"build/out.txt":      "foo\n",
		"sub/build":          "foo\n",
		"sub/only.txt":       "foo\n",
		"other/sub/only.txt": "foo\n",
		"deep/cache/c.txt":   "foo\n",
		"trail":              "foo\n",
		"a.tmp":              "foo\n",
		"a.tmr":              "foo\n",
		"nested/gone.txt":    "foo\n",
		"nested/keep.txt":    "foo\n",
		"a.skip":             "foo\n",
		"excluded.txt":       "foo\n",
		"global.swp":         "foo\n",
		".hidden":            "foo\n",
		".shown":             "foo\n",
		".github/ci.yml":     "foo\n",
		".github/.deep":      "foo\n",
		".other/x":           "foo\n",
		"inner/.git/HEAD":    "x\n",
		"inner/x.log":        "foo\n",
		"inner/.gitignore":   "own.txt\n",
		"inner/own.txt":      "foo\n",
		"neg/.gitignore":     "!*.log\n",
		"neg/y.log":          "foo\n",
		"neg/.ignore":        "!z.skip\n",
		"neg/z.skip":         "foo\n",
	}
	return files
}

// oddSearch is one search, described for both this package and ripgrep.
type oddSearch struct {
	pattern string
	literal bool
	fold    bool
	word    bool
	// glob makes the search include hidden and ignored files, because ripgrep's globs override
	// ignore files.
	glob   string
	globs  []string // globs for ripgrep's -g; nil for glob itself
	hidden bool
	all    bool
}

func oddSearches() []oddSearch {
	var out []oddSearch
	for _, p := range []string{
		"foo", "^foo", "foo$", "^foo$", "^$", "^", "$", ".", "^.$", "foo|bar", "fo+", "f.o",
		"f[a-z]o", "(?i)foo", "x{3}", "bar.*foo", "foo.bar", "\\s", "^\\s+foo", "\\t",
		"[[:upper:]]+",
		`\bfoo\b`, `\bfoo`, `foo\b`, `\Bfoo`, `foo\B`, `\bпривет\b`, `привет`, `\bприв`, `\w+`,
		`^\w+$`, `\W`, `^\W+$`, `\d+`, `^\d+$`, `^a\sb$`, `\S+`, `[^\w\s]`, `caf\b`, `café`,
		`\bcaf\w+\b`, `\x{0301}`, `\p{L}+`, `\p{Greek}+`, `^\pL+$`,
		`\bfoo_`, `_\b`, `日本`, `\b日本\b`, `[k]`, `\.`, `a\.b\*`, `\\`, `é`, `[à-ü]`, `x$`, `y$`,
		`at the (start|end)`, `a.b`, `^a.b$`,
	} {
		out = append(out, oddSearch{pattern: p})
	}
	for _, p := range []string{"FOO", "привет", "café", "k", "s", "i", "σίσυφος", `\bfoo\b`} {
		out = append(out, oddSearch{pattern: p, fold: true})
	}
	for _, p := range []string{"a.b*c[d]e(f)g{h}\\i^j$k|l?m+n", "foo()", "[id]", "\\"} {
		out = append(out, oddSearch{pattern: p, literal: true})
	}
	for _, p := range []string{"foo", "привет", "caf", "日本"} {
		out = append(out, oddSearch{pattern: p, word: true})
	}
	out = append(out, oddSearch{pattern: "foo", hidden: true}, oddSearch{pattern: "foo", all: true})
	for _, g := range []string{
		"*.txt", "*.go", "*.{go,md}", "src/*.go", "src/**/*.go", "src/**", "**/*.md", "**/src/**",
		"/Makefile", "Makefile", "**/Makefile", "*", "**", "?.tmp", "[a-m]*.txt", "[!a-z]*",
		"*.TXT", `\[id\].tsx`, `\{brace\}.ts`, `com\,ma.txt`,
		"with space.txt", "!*.txt", "!src", "!src/", "!src/**", "!/Makefile", "!**/*.go",
		"{src,docs}/**", "{src/deep,docs}/**/*", "*.t?t", "日本*", "ünï.txt", "-dash.txt",
		`\!bang.txt`, "#hash.txt", "docs/", "[]]x", "**/er/*", "src/*/*/x.go",
	} {
		out = append(out, oddSearch{pattern: "foo", glob: g})
	}
	return append(
		out,
		oddSearch{
			pattern: "foo",
			glob:    "*.go,*.md",
			globs:   []string{"*.go", "*.md"},
		},
		oddSearch{pattern: "foo", glob: "*.go *.md", globs: []string{"*.go", "*.md"}},
		oddSearch{
			pattern: "foo",
			glob:    "*.go !*_test.go",
			globs:   []string{"*.go", "!*_test.go"},
		},
		oddSearch{pattern: "foo", glob: "noext !bar", globs: []string{"noext", "!bar"}},
		oddSearch{pattern: "foo", glob: "*.go, !src", globs: []string{"*.go", "!src"}},
	)
}

func (s oddSearch) String() string {
	return fmt.Sprintf(
		"%q glob %q (literal %v, fold %v, word %v, hidden %v, all %v)",
		s.pattern,
		s.glob,
		s.literal,
		s.fold,
		s.word,
		s.hidden,
		s.all,
	)
}

// accepted lists the intended differences from ripgrep, by pattern or glob and by file. The file
// "*" stands for all files.
var accepted = []struct{ search, file, why string }{
	{"#hash.txt", "*", "ripgrep treats a glob that begins with # as a comment"},
	{"docs/", "*", "a trailing slash matches everything below the folder; ripgrep finds nothing"},
	{
		`\W`,
		"cr.txt",
		loneCR,
	},
	{`\s`, "cr.txt", loneCR},
	{"bar.*foo", "cr.txt", loneCR},
	{"foo.bar", "cr.txt", loneCR},
	{
		`\W`,
		"invalid.txt",
		badUTF8,
	},
	{`[^\w\s]`, "invalid.txt", badUTF8},
	{`[^\w\s]`, "latin1.txt", badUTF8},
	{`[^\w\s]`, "surrogate.txt", badUTF8},
	{
		"a.b",
		"invalid.txt",
		badUTF8,
	},
	{"^a.b$", "invalid.txt", badUTF8},
	{"caf", "latin1.txt", badUTF8},
}

// Reasons for the differences.
const (
	loneCR = "only a CR in a line break is excluded from the line; " +
		"with --crlf, ripgrep does not let ., \\s and \\W match any other CR either"
	badUTF8 = "RE2 reads an invalid UTF-8 byte as U+FFFD, which is not a word character; " +
		"in ripgrep, no class matches such a byte"
)

func TestLikeRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed; make setup installs it")
	}
	var files []string
	for name, text := range oddTree() {
		files = append(files, name+": "+text)
	}
	if len(files) < 70 {
		t.Errorf("only %d files", len(files))
	}
	root := tree(t, files...)
	config := tree(t, "git/ignore: *.swp")
	searches := oddSearches()
	if len(searches) < 80 {
		t.Errorf("only %d searches", len(searches))
	}
	used := make([]bool, len(accepted))
	for _, s := range searches {
		theirs := ripgrep(t, rg, root, config, s)
		ours := ourSearch(t, root, filepath.Join(config, "git", "ignore"), s)
		for _, at := range differences(ours, theirs) {
			if !isAccepted(used, s, at[1:]) {
				t.Errorf("%v: %s", s, at)
			}
		}
	}
	for i, u := range used {
		if !u {
			t.Errorf("this difference no longer exists: %+v", accepted[i])
		}
	}
}

func isAccepted(used []bool, s oddSearch, at string) bool {
	file, _, _ := strings.Cut(at, ":")
	for i, a := range accepted {
		if a.search == cmp.Or(s.glob, s.pattern) && (a.file == "*" || a.file == file) {
			used[i] = true
			return true
		}
	}
	return false
}

// differences returns the matches that are in only one of the two lists. Matches of this package
// are marked with "+", and matches of ripgrep with "-".
func differences(ours, theirs []string) (out []string) {
	for _, at := range ours {
		if !slices.Contains(theirs, at) {
			out = append(out, "+"+at)
		}
	}
	for _, at := range theirs {
		if !slices.Contains(ours, at) {
			out = append(out, "-"+at)
		}
	}
	return out
}

func ourSearch(t *testing.T, root, global string, s oddSearch) (places []string) {
	t.Helper()
	all := s.all || s.glob != ""
	q := Query{
		Matcher: compile(
			t,
			Pattern{Text: s.pattern, Literal: s.literal, IgnoreCase: s.fold, Word: s.word},
		),
	}
	if s.glob != "" {
		q.Only = glob(t, s.glob)
	}
	found, err := Grep(
		context.Background(),
		root,
		Options{Global: global, Hidden: s.hidden || all, All: all},
		q,
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found.Files {
		for _, l := range f.Lines {
			places = append(places, fmt.Sprintf("%s:%d", f.Path, l.Number))
		}
	}
	return places
}

// rgText is a text object in ripgrep's JSON output.
type rgText struct {
	Text  *string
	Bytes []byte
}

func (x rgText) String() string {
	if x.Text != nil {
		return *x.Text
	}
	return string(x.Bytes)
}

func ripgrep(t *testing.T, rg, root, config string, s oddSearch) (places []string) {
	t.Helper()
	args := []string{"--no-config", "--json", "--crlf", "--no-messages", "-e", s.pattern}
	for flag, on := range map[string]bool{"-F": s.literal, "-i": s.fold, "-w": s.word,
		"--hidden": s.hidden || s.all || s.glob != "", "--no-ignore": s.all || s.glob != ""} {
		if on {
			args = append(args, flag)
		}
	}
	globs := s.globs
	if s.glob != "" && globs == nil {
		globs = []string{s.glob}
	}
	for _, g := range globs {
		args = append(args, "--glob="+g)
	}
	if s.hidden || s.all ||
		s.glob != "" { // the last matching glob wins: .git is always excluded
		args = append(args, "--glob=!.git")
	}
	cmd := exec.Command(rg, append(args, ".")...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "XDG_CONFIG_HOME="+config, "HOME="+config)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!asExit(err, &exit) || exit.ExitCode() > 1) {
		t.Fatalf("%v: %v\n%s", args, err, exit.Stderr)
	}
	for line := range bytes.Lines(out) {
		var m struct {
			Type string
			Data struct {
				Path       rgText
				LineNumber int `json:"line_number"`
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		if m.Type == "match" {
			places = append(
				places,
				fmt.Sprintf(
					"%s:%d",
					strings.TrimPrefix(m.Data.Path.String(), "./"),
					m.Data.LineNumber,
				),
			)
		}
	}
	return places
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*exit = e
	return ok
}
