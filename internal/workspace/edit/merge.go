package edit

import "bytes"

// Conflict is a range of base that both sides changed differently. Mine is merged at [Start:End].
type Conflict struct {
	BaseStart, BaseEnd int
	Start, End         int
	Base, Mine, Theirs []byte
}

// Merge3 applies the changes between base and the other text to mine, by lines. Changes to the same
// or neighboring lines are conflicts unless they are identical. For a conflict, merged keeps mine
// without any marker, so that the user loses nothing if the conflicts are ignored.
func Merge3(base, mine, theirs []byte) (merged []byte, conflicts []Conflict) {
	switch {
	case bytes.Equal(base, theirs), bytes.Equal(mine, theirs):
		return mine, nil
	case bytes.Equal(base, mine):
		return theirs, nil
	}
	g := &merger{base: base, mine: side{text: mine, hunks: Hunks(base, mine)},
		theirs: side{text: theirs, hunks: Hunks(base, theirs)}}
	for g.next() {
	}
	g.out = append(g.out, base[g.at:]...)
	return g.out, g.conflicts
}

// side is one descendant of base. hunks are the hunks that are not merged yet. shift is the number
// of bytes that the merged hunks added.
type side struct {
	text  []byte
	hunks []Hunk
	shift int
}

type merger struct {
	base         []byte
	mine, theirs side
	at           int // offset up to which base is merged
	out          []byte
	conflicts    []Conflict
}

// next merges the first group of touching hunks of both sides.
func (g *merger) next() bool {
	start, ok := g.first()
	if !ok {
		return false
	}
	end := start
	var nm, nt int
	for grown := true; grown; {
		var m, t bool
		nm, end, m = g.mine.reach(nm, start, end)
		nt, end, t = g.theirs.reach(nt, start, end)
		grown = m || t
	}
	g.out = append(g.out, g.base[g.at:start]...)
	mine, theirs := g.mine.take(nm, start, end), g.theirs.take(nt, start, end)
	g.emit(start, end, nm > 0, nt > 0, mine, theirs)
	g.at = end
	return true
}

func (g *merger) first() (start int, ok bool) {
	start = len(g.base) + 1
	for _, s := range []side{g.mine, g.theirs} {
		if len(s.hunks) > 0 {
			start = min(start, s.hunks[0].BaseStart)
		}
	}
	return start, start <= len(g.base)
}

// reach adds this side's hunks that touch base[start:end] to a group of n hunks. It returns the
// number of hunks and the end of the group, and whether the group grew.
func (s *side) reach(n, start, end int) (int, int, bool) {
	from := n
	for n < len(s.hunks) && s.hunks[n].BaseStart <= end && s.hunks[n].BaseEnd >= start {
		end = max(end, s.hunks[n].BaseEnd)
		n++
	}
	return n, end, n > from
}

// take returns this side's text for base[start:end] and removes the next n hunks, which are in that
// range.
func (s *side) take(n, start, end int) []byte {
	from := start + s.shift
	for _, h := range s.hunks[:n] {
		s.shift += len(h.New) - len(h.Old)
	}
	s.hunks = s.hunks[n:]
	return s.text[from : end+s.shift]
}

func (g *merger) emit(start, end int, mineChanged, theirsChanged bool, mine, theirs []byte) {
	if !mineChanged {
		g.out = append(g.out, theirs...)
		return
	}
	from := len(g.out)
	g.out = append(g.out, mine...)
	if theirsChanged && !bytes.Equal(mine, theirs) {
		g.conflicts = append(g.conflicts, Conflict{
			BaseStart: start, BaseEnd: end, Start: from, End: len(g.out),
			Base: g.base[start:end], Mine: mine, Theirs: theirs,
		})
	}
}
