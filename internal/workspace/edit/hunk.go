package edit

import (
	"bytes"
)

// Hunk is one changed range of complete lines. (The last line may have no ending.) Byte ranges are
// half open. BaseLine and NewLine are the 0-based numbers of the lines that begin at BaseStart and
// NewStart. Lines are counted as LSP counts them, so LF, CRLF and CR end a line. Old and New share
// memory with the texts.
type Hunk struct {
	BaseStart, BaseEnd int
	NewStart, NewEnd   int
	BaseLine, NewLine  int
	Old, New           []byte
	Tier               Tier // how the text was found; T0 if no text was searched for
}

// Hunks compares two texts by lines. Applying all hunks to base yields exactly new, and at least
// one unchanged line separates two hunks. The time for the comparison is limited. After the limit,
// hunks become coarser but stay correct.
func Hunks(base, new []byte) []Hunk {
	if bytes.Equal(base, new) {
		return nil
	}
	start, baseEnd, newEnd := commonLines(base, new)
	la, lb := splitLines(base[start:baseEnd]), splitLines(new[start:newEnd])
	out := make([]Hunk, 0, 4)
	first := countLines(base[:start])
	for _, c := range diffLines(base[start:baseEnd], new[start:newEnd], la, lb) {
		h := Hunk{BaseLine: first + c.a0, NewLine: first + c.b0}
		h.BaseStart, h.BaseEnd = lineRange(la, c.a0, c.a1, baseEnd-start)
		h.NewStart, h.NewEnd = lineRange(lb, c.b0, c.b1, newEnd-start)
		h.BaseStart, h.BaseEnd = h.BaseStart+start, h.BaseEnd+start
		h.NewStart, h.NewEnd = h.NewStart+start, h.NewEnd+start
		h.Old, h.New = base[h.BaseStart:h.BaseEnd], new[h.NewStart:h.NewEnd]
		out = append(out, h)
	}
	return out
}

// commonLines cuts off the complete lines that both texts begin and end with, so that a small edit
// in a large file costs only two scans.
func commonLines(a, b []byte) (start, aEnd, bEnd int) {
	n := min(len(a), len(b))
	for start+64 <= n && bytes.Equal(a[start:start+64], b[start:start+64]) {
		start += 64
	}
	for start < n && a[start] == b[start] {
		start++
	}
	for !isLineStart(a, start) || !isLineStart(b, start) {
		start--
	}
	aEnd, bEnd = len(a), len(b)
	for aEnd-64 >= start && bEnd-64 >= start && bytes.Equal(a[aEnd-64:aEnd], b[bEnd-64:bEnd]) {
		aEnd, bEnd = aEnd-64, bEnd-64
	}
	for aEnd > start && bEnd > start && a[aEnd-1] == b[bEnd-1] {
		aEnd, bEnd = aEnd-1, bEnd-1
	}
	for aEnd < len(a) && (!isLineStart(a, aEnd) || !isLineStart(b, bEnd)) {
		aEnd, bEnd = aEnd+1, bEnd+1
	}
	return start, aEnd, bEnd
}

func lineRange(lines []line, from, to, size int) (start, end int) {
	at := func(i int) int {
		if i == len(lines) {
			return size
		}
		return lines[i].start
	}
	return at(from), at(to)
}

func diffLines(a, b []byte, la, lb []line) []chunk {
	ia, ib := intern(lineKeys(a, la), lineKeys(b, lb))
	return diffIDs(ia, ib)
}

// lineKeys returns the lines with their endings, because a changed ending is a change.
func lineKeys(data []byte, lines []line) []string {
	text := string(data)
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = text[l.start:l.next]
	}
	return out
}

// ApplyHunks returns base with the accepted hunks applied. hunks are a result of Hunks for the same
// base. A nil accept accepts all hunks.
func ApplyHunks(base []byte, hunks []Hunk, accept func(i int) bool) []byte {
	out := make([]byte, 0, len(base))
	at := 0
	for i, h := range hunks {
		if accept != nil && !accept(i) {
			continue
		}
		out = append(out, base[at:h.BaseStart]...)
		out = append(out, h.New...)
		at = h.BaseEnd
	}
	return append(out, base[at:]...)
}
