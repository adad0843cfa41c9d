package edittest

import (
	"slices"
	"strings"
)

// Choose returns a number from 0 to n-1. n is at least 1.
type Choose func(n int) int

// Change replaces the lines [From,To) of a file with New. If the range is empty, the change is an
// insertion before line From. If New is empty, it is a deletion.
type Change struct {
	From, To int // 0-based
	New      []string
}

// Intent is a file and the changes that a model intends to make to it.
type Intent struct {
	Path       string
	Lines      []string // lines of the file, without line endings
	EOL        string   // line ending: "\n" or "\r\n"
	NoFinalEOL bool     // whether the last line has no ending, both before and after the change
	Changes    []Change // sorted; at least two unchanged lines separate two changes
}

// Base returns the file before the change.
func (in Intent) Base() []byte { return in.text(in.Lines) }

// Want returns the file after the change.
func (in Intent) Want() []byte { return in.text(in.after()) }

func (in Intent) after() []string {
	var out []string
	at := 0
	for _, c := range in.Changes {
		out = append(append(out, in.Lines[at:c.From]...), c.New...)
		at = c.To
	}
	return append(out, in.Lines[at:]...)
}

func (in Intent) text(lines []string) []byte {
	if len(lines) == 0 {
		return []byte{}
	}
	s := strings.Join(lines, in.EOL)
	if !in.NoFinalEOL {
		s += in.EOL
	}
	return []byte(s)
}

func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimSpace(l)
	}
	return out
}

// plainLines are ordinary lines. trapLines are lines that a parser could mistake for part of a
// format, or that a matcher could mistake for another line.
var (
	plainLines = []string{
		"", "}", "{", "a", "b", "x = 1", "total = 1", "subtotal = 1", "count += 1",
		"total_count += 1", "return total", "if a:",
		"    if a:",
		"    return a", "        return a", "\treturn b", "\t\treturn b", "  - item",
		"- item", "+ plus", "# heading",
		"// comment", "func f() {",
		"say(“hello”) // it’s fine", "a – b", "say(\"hello\") // it's fine",
		"naïve 😀 line", "end", "  ",
		"trailing  ", "x = 1 ", "\t}",
	}
	trapLines = []string{
		"=======", "-- comment", "++ y", "--- a/f", "+++ b/f", "@@ -1 +1 @@", "@@",
		"*** End Patch", "*** Begin Patch", "*** End of File",
		"*** Update File: other.go",
		"<<<<<<< SEARCH", ">>>>>>> REPLACE", "------- SEARCH", "+++++++ REPLACE",
		"-------", "```", "```go",
		"\\ No newline at end of file", "12| x", "12\tx", "...",
		"// ... existing code ...", ":start_line:3", "diff --git a/f b/f", "other.go",
		"\\=======",
		" *** End Patch", "- ", "+", "-", " ",
	}
)

// Random returns a random Intent: a short file in which many lines look alike, with one to three
// changes.
func Random(choose Choose) Intent {
	in := Intent{Path: "dir/file.txt", EOL: []string{"\n", "\n", "\r\n"}[choose(3)]}
	traps := choose(4) == 0
	serial := 0
	line := func() string {
		switch k := choose(8); {
		case k < 4:
			serial++
			return strings.Repeat(
				[]string{"    ", "\t", "  "}[choose(3)],
				choose(3),
			) + "line " + string(
				rune('a'+serial%26),
			) + strings.Repeat(
				"i",
				serial/26,
			)
		case k == 4 && traps:
			return trapLines[choose(len(trapLines))]
		}
		return plainLines[choose(len(plainLines))]
	}
	for range 1 + choose(16) {
		in.Lines = append(in.Lines, line())
	}
	in.NoFinalEOL = choose(4) == 0
	for at := choose(3); at <= len(in.Lines) && len(in.Changes) < 3; at += 2 + choose(8) {
		c := Change{From: at, To: min(len(in.Lines), at+choose(4))}
		if in.change(&c, choose, line) {
			in.Changes = append(in.Changes, c)
			at = c.To
		}
		if choose(2) == 0 {
			break
		}
	}
	in.settleEnd()
	return in
}

// change chooses the new lines of a change, which are either different lines or the old lines with
// one word changed.
func (in Intent) change(c *Change, choose Choose, line func() string) bool {
	old := in.Lines[c.From:c.To]
	if len(old) > 0 && choose(2) == 0 {
		for _, l := range old {
			c.New = append(c.New, tweak(l))
		}
	} else {
		for range choose(4) {
			c.New = append(c.New, line())
		}
	}
	return !slices.Equal(old, c.New)
}

// tweak changes one word of a line. If it knows none of the words, the line stays unchanged.
func tweak(l string) string {
	for _, w := range [][2]string{
		{"hello", "goodbye"}, {"return", "yield"}, {"line", "row"}, {"total", "sum"},
		{"a", "c"}, {"1", "2"},
	} {
		if strings.Contains(l, w[0]) {
			return strings.Replace(l, w[0], w[1], 1)
		}
	}
	return l
}

// settleEnd gives the file a final line ending if the formats cannot express the change without
// one.
func (in *Intent) settleEnd() {
	after := in.after()
	n := len(in.Changes)
	switch {
	case len(after) == 0,
		len(in.Lines) == 1,
		in.Lines[len(in.Lines)-1] == "",
		after[len(after)-1] == "":
		in.NoFinalEOL = false
	case n > 0 && in.Changes[n-1].To == len(in.Lines) && len(in.Changes[n-1].New) == 0:
		in.NoFinalEOL = false
	}
}

// WantWithout reports whether the content in got is the file with only some of the changes applied,
// and each of the other changes adds lines that the file already contains. A tool may omit such a
// change if it reports that the change was already made.
func (in Intent) WantWithout(got []byte) bool {
	for mask := range 1 << len(in.Changes) {
		some := in
		some.Changes = nil
		known := true
		for i, c := range in.Changes {
			if mask>>i&1 == 1 {
				some.Changes = append(some.Changes, c)
			} else {
				known = known && len(c.New) > 0 && contains(trimmed(in.Lines), trimmed(c.New), -1)
			}
		}
		if known && string(some.Want()) == string(got) {
			return true
		}
	}
	return false
}
