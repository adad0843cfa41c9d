package edit

import (
	"fmt"
	"strings"
)

// reading is how to interpret the indent of a new text if the search text matched with an indent
// other than the file's.
type reading int

const (
	unclear  reading = iota // the indent fits both or neither
	relative                // the indent is that of the search text and is shifted in the same way
	absolute                // the indent is already that of the file and does not change
)

const unclearIndent = "it is unclear whether the new text has the indent of the search text or that of the file"

// reindent adapts text to the indent of the file at pl, where old matched at tier T3. side is the
// complete new side. text is the part of side to write. The indent of side decides between two
// interpretations, unless both give the same text. problem describes why the text cannot be
// adapted.
func (m *matcher) reindent(old, side, text string, pl place) (out, problem string) {
	at := m.lineOf(pl.start) - 1
	shifts := m.shifts(contents(old), at)
	moved, problem := shiftText(shifts, text)
	if problem == "" && moved == text {
		return text, ""
	}
	switch m.reading(shifts, contents(old), contents(side), at) {
	case relative:
		return moved, problem
	case absolute:
		return text, ""
	}
	if problem != "" {
		return "", problem
	}
	return "", unclearIndent
}

// reading compares the indent of side (new text) with that of old (search text) and that of the
// file's lines from index at on. These two differ by a uniform shift, so side cannot equal both.
func (m *matcher) reading(shifts []shift, old, side []string, at int) reading {
	file := make([]string, len(old))
	for i := range file {
		l := m.lines()[at+i]
		file[i] = string(m.text[l.start:l.end])
	}
	n, o, f := outline(side), outline(old), outline(file)
	switch {
	case n.blank:
		return relative
	case n.base == f.base && sameTrimmed(strings.Join(old, "\n"), strings.Join(side, "\n")):
		return unclear // only the indent changes: to the file's own, or by the same amount again
	case len(shifts) > 0 && shifts[0].from != "":
		return readUnits(shifts[0], n, o, f)
	}
	byBase, byFirst := compare(n.base, o.base, f.base), compare(n.first, o.first, f.first)
	switch {
	case byBase == unclear:
		return byFirst
	case byFirst == unclear, byFirst == byBase:
		return byBase
	}
	return unclear
}

func compare(n, o, f string) reading {
	switch n {
	case o:
		return relative
	case f:
		return absolute
	}
	return unclear
}

// readUnits determines the interpretation if old and file are indented with different characters.
// The characters in the indent of the new text decide.
func readUnits(s shift, n, o, f indents) reading {
	model, file := strings.ContainsAny(n.all, s.from[:1]), strings.ContainsAny(n.all, s.to[:1])
	switch {
	case model && file:
		return unclear
	case model:
		return relative
	case file && n.base == f.base:
		return absolute
	case file:
		return unclear
	}
	return compare(n.base, o.base, f.base)
}

// indents is the outline of a block of lines.
type indents struct {
	first, base string // indents of the first line and of the least indented one
	all         string // every indent, in order
	blank       bool   // no line has text
}

func outline(lines []string) indents {
	out := indents{blank: true}
	for _, l := range lines {
		rest := strings.TrimSpace(l)
		if rest == "" {
			continue
		}
		in := indentOf(l)
		if out.blank {
			out.first, out.base, out.blank = in, in, false
		}
		if len(in) < len(out.base) {
			out.base = in
		}
		if strings.HasPrefix(rest, "*") {
			in = strings.TrimSuffix(in, " ") // the space before a block comment's star is alignment
		}
		out.all += in
	}
	return out
}

// shiftText returns text moved by the shift. Several interpretations of the units must give the
// same result.
func shiftText(shifts []shift, text string) (out, problem string) {
	for i, s := range shifts {
		moved, ok := s.applyAll(text)
		if !ok {
			return "", "the new text cannot follow the shift of the indent (tabs and spaces mixed, or less indented than the shift)"
		}
		if i > 0 && moved != out {
			return "", fmt.Sprintf("the width of its indent is unclear (%d or %d spaces for a tab)",
				len(shifts[0].from+shifts[0].to)-1, len(s.from+s.to)-1)
		}
		out = moved
	}
	return out, ""
}

func (s shift) applyAll(text string) (string, bool) {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		out, ok := s.apply(l)
		if !ok {
			return "", false
		}
		lines[i] = out
	}
	return strings.Join(lines, "\n"), true
}
