package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// Unified returns the difference between two texts as a unified diff that git and patch can apply,
// with context lines around each change, or "" if the texts are equal. The header contains the
// names as given ("/dev/null" for no file). Lines end only at LF, as in those tools, so a CR is
// part of its line.
func Unified(oldName, newName string, base, new []byte, context int) string {
	if bytes.Equal(base, new) {
		return ""
	}
	u := newUnified(base, new, max(0, context))
	fmt.Fprintf(&u.out, "--- %s\n+++ %s\n", HeaderName(oldName), HeaderName(newName))
	chunks := diffLines(u.a, u.b, u.la, u.lb)
	for i := 0; i < len(chunks); {
		j := i + 1
		for j < len(chunks) && chunks[j].a0-chunks[j-1].a1 <= 2*u.context {
			j++
		}
		u.hunk(chunks[i:j])
		i = j
	}
	return u.out.String()
}

// HeaderName quotes special characters, as git does. It appends a tab to a name with a space, so
// that the text after the space is not parsed as a time stamp.
func HeaderName(name string) string {
	if strings.ContainsAny(name, "\n\t\"\\") {
		return fmt.Sprintf("%q", name)
	}
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}

// unified writes the changed middle of two texts. first is the number of lines before that middle.
type unified struct {
	a, b    []byte
	la, lb  []line
	first   int
	context int
	out     strings.Builder
}

// newUnified removes the common beginning and end of two texts, except for the context.
func newUnified(base, new []byte, context int) *unified {
	start, aEnd, bEnd := commonLines(base, new)
	start = bytes.LastIndexByte(base[:start], '\n') + 1
	for n := 0; n < context && start > 0; n++ {
		start = bytes.LastIndexByte(base[:start-1], '\n') + 1
	}
	// The loop keeps one line more than the context, because a cut at a CR is not the end of a line
	// here.
	for n := 0; n <= context && aEnd < len(base); n++ {
		more := bytes.IndexByte(base[aEnd:], '\n') + 1
		if more == 0 {
			more = len(base) - aEnd
		}
		aEnd, bEnd = aEnd+more, bEnd+more
	}
	u := &unified{a: base[start:aEnd], b: new[start:bEnd], context: context}
	u.la, u.lb = splitLF(u.a), splitLF(u.b)
	u.first = bytes.Count(base[:start], []byte("\n"))
	return u
}

// hunk writes neighboring chunks as one hunk.
func (u *unified) hunk(chunks []chunk) {
	first, last := chunks[0], chunks[len(chunks)-1]
	before := min(u.context, first.a0)
	after := min(u.context, len(u.la)-last.a1)
	a0, a1 := first.a0-before, last.a1+after
	b0, b1 := first.b0-before, last.b1+after
	fmt.Fprintf(&u.out, "@@ -%s +%s @@\n", lineSpan(u.first+a0, u.first+a1),
		lineSpan(u.first+b0, u.first+b1))
	at := a0
	for _, c := range chunks {
		u.lines(' ', u.a, u.la[at:c.a0])
		u.lines('-', u.a, u.la[c.a0:c.a1])
		u.lines('+', u.b, u.lb[c.b0:c.b1])
		at = c.a1
	}
	u.lines(' ', u.a, u.la[at:a1])
}

func lineSpan(from, to int) string {
	switch n := to - from; n {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	default:
		return fmt.Sprintf("%d,%d", from+1, n)
	}
}

func (u *unified) lines(kind byte, data []byte, lines []line) {
	for _, l := range lines {
		u.out.WriteByte(kind)
		u.out.Write(data[l.start:l.end])
		u.out.WriteByte('\n')
		if l.next == l.end {
			u.out.WriteString("\\ No newline at end of file\n")
		}
	}
}
