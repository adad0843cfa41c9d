package edit

import "unicode/utf8"

// WordDiff compares two texts by words, runs of space and single other runes,
// for display inside changed lines. The spans replace ranges of old; none cuts
// a rune, and Apply(old, spans) is new.
func WordDiff(old, new []byte) []Span {
	ta, tb := tokens(old), tokens(new)
	ia, ib := intern(lineKeys(old, ta), lineKeys(new, tb))
	var out []Span
	for _, c := range diffIDs(ia, ib) {
		s := Span{}
		s.Start, s.End = lineRange(ta, c.a0, c.a1, len(old))
		from, to := lineRange(tb, c.b0, c.b1, len(new))
		s.New = new[from:to]
		out = append(out, s)
	}
	return out
}

// tokens cuts data into words, runs of blanks, and single runes or broken bytes.
func tokens(data []byte) []line {
	var out []line
	kind := func(r rune) int {
		switch {
		case isWord(r):
			return 1
		case r == ' ' || r == '\t':
			return 2
		}
		return 0
	}
	last := 0
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		k := kind(r)
		if n := len(out); n > 0 && k != 0 && k == last {
			out[n-1].end, out[n-1].next = i+size, i+size
		} else {
			out = append(out, line{i, i + size, i + size})
		}
		last = k
		i += size
	}
	return out
}
