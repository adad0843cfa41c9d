package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func compile(t testing.TB, p Pattern) *Matcher {
	t.Helper()
	m, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// show formats a search result as "file:line:text". Context lines have dashes instead of colons.
func show(f *Found) string {
	var b strings.Builder
	for _, fm := range f.Files {
		for _, l := range fm.Lines {
			sep := ":"
			if l.Context {
				sep = "-"
			}
			fmt.Fprintf(&b, "%s%s%d%s%s\n", fm.Path, sep, l.Number, sep, l.Text)
		}
		if len(fm.Lines) == 0 {
			fmt.Fprintf(&b, "%s=%d\n", fm.Path, fm.Count)
		}
	}
	return b.String()
}

func TestGrep(t *testing.T) {
	root := tree(t, "a.txt: one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n",
		"s/b.go: two\r\nTWO\r\n", "bin: two\x00", "utf16: \xff\xfet\x00w\x00o\x00\n\x00",
		".hid: two")
	for _, c := range []struct {
		name string
		p    Pattern
		q    Query
		want string
	}{
		{"literal", Pattern{Text: "two"}, Query{}, "a.txt:2:two\nutf16:1:two\ns/b.go:1:two\n"},
		{"any case", Pattern{Text: "two", IgnoreCase: true}, Query{},
			"a.txt:2:two\nutf16:1:two\ns/b.go:1:two\ns/b.go:2:TWO\n"},
		{"end of line before CRLF", Pattern{Text: "o$"}, Query{Only: glob(t, "*.go")},
			"s/b.go:1:two\n"},
		{"context", Pattern{Text: "three|four|eight"}, Query{Context: 1},
			"a.txt-2-two\na.txt:3:three\na.txt:4:four\na.txt-5-five\na.txt-7-seven\na.txt:8:eight\na.txt-9-nine\n"},
		{"context does not repeat", Pattern{Text: "three|five"}, Query{Context: 2},
			"a.txt-1-one\na.txt-2-two\na.txt:3:three\na.txt-4-four\na.txt:5:five\na.txt-6-six\na.txt-7-seven\n"},
		{"names", Pattern{Text: "e"}, Query{Names: true}, "a.txt=1\n"},
		{"counts", Pattern{Text: "e"}, Query{Counts: true}, "a.txt=6\n"},
		{"word", Pattern{Text: "w", Word: true}, Query{}, ""},
		{"dot", Pattern{Text: "t.o", Literal: true}, Query{}, ""},
		{"limit", Pattern{Text: "e"}, Query{Limit: 2}, "a.txt:1:one\na.txt:3:three\n"},
		{"cut", Pattern{Text: "seven"}, Query{MaxLine: 3}, "a.txt:7:sev [line cut]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Matcher = compile(t, c.p)
			found, err := Grep(context.Background(), root, Options{}, c.q)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(found); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			if found.Binary != 1 && c.q.Only == nil && c.q.Limit == 0 {
				t.Errorf("binary files: %d", found.Binary)
			}
		})
	}
}

func glob(t testing.TB, p string) *Glob {
	t.Helper()
	g, err := CompileGlob(p)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGrepOverlay(t *testing.T) {
	root := tree(t, "a: disk", "b: disk", ".git/HEAD", ".gitignore: c", "c: disk")
	abs := func(n string) string { return root + "/" + n }
	docs := map[string]string{abs("a"): "buffer", abs("new/x"): "buffer", abs("c"): "buffer",
		"/elsewhere": "buffer"}
	q := Query{Matcher: compile(t, Pattern{Text: "disk|buffer"}),
		Overlay: func(p string) ([]byte, bool) {
			text, ok := docs[p]
			return []byte(text), ok
		}}
	for p := range docs {
		q.Unsaved = append(q.Unsaved, p)
	}
	found, err := Grep(context.Background(), root, Options{}, q)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(found), "a:1:buffer\nb:1:disk\nnew/x:1:buffer\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if !found.Files[0].Unsaved || found.Files[1].Unsaved {
		t.Error("the field for unsaved files is wrong")
	}
	found, err = Grep(context.Background(), abs("new/x"), Options{}, q)
	if err != nil || show(found) != ":1:buffer\n" {
		t.Errorf("one document: %v %v", found, err)
	}
}

// TestGrepLargeFile searches a file that spans many chunks, with context lines that cross chunk
// boundaries and lines that are longer than a chunk.
func TestGrepLargeFile(t *testing.T) {
	root := t.TempDir()
	var b bytes.Buffer
	for i := range 400_000 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	b.WriteString(strings.Repeat("x", 3<<20) + "needle\n")
	if err := os.WriteFile(filepath.Join(root, "big"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	q := Query{Matcher: compile(t, Pattern{Text: `line \d*99999$|needle`}), Context: 1, MaxLine: 20}
	found, err := Grep(context.Background(), root, Options{}, q)
	if err != nil {
		t.Fatal(err)
	}
	got := show(found)
	for _, want := range []string{"big:99999:line 99999\n",
		"big-299998-line 299998\nbig:299999:line 299999\nbig-300000-line 300000\n",
		"big:399999:line 399999"} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, got)
		}
	}
	if found.Matches != 5 {
		t.Errorf("%d matches", found.Matches)
	}
}

// FuzzMatcher checks that the automaton, the literal search and the regexp package give the same
// result for each line.
func FuzzMatcher(f *testing.F) {
	for _, p := range []string{"a", "ab|cd", "(?i)skip", `\bx\w+\b`, "^a.*b$", "[^a]b*", `(a|b)+c`,
		"", "x*", "a{2,3}b", `\Ba`, "(?i)straße", "(?i)masks of kelvin", "(?i)(sk|ks)x", "k", ".",
		`\z`, "a\\b", "\r"} {
		f.Add(p, "ab abc\nSKIP s\u212aip\nxyz aab\n\u017fkip é\r\n\nstrasse k\nMA\u017f\u212aS OF Kelvin\nSTRA\u00dfE \u017fkX", false)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, word bool) {
		p := Pattern{Text: pattern, Word: word}
		m, err := Compile(p)
		if err != nil || SpansLines(p) || strings.Contains(text, "\x00") {
			return
		}
		scan := m.scanner()
		scan.begin([]byte(text))
		var got []string
		for at := 0; ; {
			start, end, ok := scan.next([]byte(text), at)
			if !ok {
				break
			}
			got = append(got, text[start:end])
			at = nextLine([]byte(text), end)
		}
		if want := naive(m.re, text); strings.Join(got, "\n") != strings.Join(want, "\n") ||
			len(got) != len(want) {
			t.Errorf("%q in %q: got %q, want %q", pattern, text, got, want)
		}
	})
}

func naive(re *regexp.Regexp, text string) (lines []string) {
	for line := range strings.Lines(text) {
		if l, ok := strings.CutSuffix(line, "\n"); ok {
			line = strings.TrimSuffix(l, "\r")
		}
		if re.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestPatternErrors(t *testing.T) {
	for _, p := range []string{"(", "a{2000}", "((a{100}){100}){100}", "(?=x)",
		strings.Repeat("a", maxPattern+1)} {
		if _, err := Compile(Pattern{Text: p}); err == nil {
			t.Errorf("%.20s: no error", p)
		}
	}
	if !SpansLines(Pattern{Text: `a\nb`}) || SpansLines(Pattern{Text: `a[^x]b`}) {
		t.Error("line breaks are reported wrongly")
	}
}

// A search with the slowest possible pattern in a long line still stops when its context ends.
func TestGrepStops(t *testing.T) {
	root := tree(t, "a: "+strings.Repeat("é", 1<<21))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	m := compile(t, Pattern{Text: `(é{1,30}){1,30}[^é]$`})
	start := time.Now()
	_, err := Grep(ctx, root, Options{}, Query{Matcher: m})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("ended after %v", d)
	}
}

// The literal search finds the first occurrence in random texts.
func TestFinder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	random := func(alphabet string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(alphabet[rnd.IntN(len(alphabet))])
		}
		return b.String()
	}
	for range 20_000 {
		alphabet := []string{"ab", "aAbB", "hHmx ", "aB\xc3\xa9\x80", "eht\n"}[rnd.IntN(5)]
		text := random(alphabet, rnd.IntN(400))
		l := literal{text: random(alphabet, 1+rnd.IntN(6))}
		if l.fold = rnd.IntN(2) == 0; l.fold {
			l.text = strings.Map(func(r rune) rune { return 'a' + r%26 }, l.text)
		}
		want := strings.Index(text, l.text)
		if l.fold {
			want = strings.Index(strings.Map(asciiLower, latin(text)), l.text)
		}
		f := newFinder(l)
		if got := f.index([]byte(text)); got != want {
			t.Fatalf("%q (fold %v) in %q: %d, want %d", l.text, l.fold, text, got, want)
		}
	}
}

// latin replaces each non-ASCII byte with a zero byte, so that no byte can be part of a multibyte
// letter.
func latin(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 0x80 {
			b[i] = 0
		}
	}
	return string(b)
}

func asciiLower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r | 0x20
	}
	return r
}
