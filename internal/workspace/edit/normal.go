package edit

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// normal contains text in the form that tier T2 or T4 compares, and the mapping back to the view.
type normal struct {
	text []byte
	at   []int // offsets in text, ascending; at[i] belongs to to[i]
	to   []int // offsets in the view
}

// back maps an offset to the view. At the end of a line, the result is after the trailing space
// that the normal form omits.
func (n *normal) back(off int) int {
	i, ok := slices.BinarySearch(n.at, off)
	if ok {
		return n.to[i]
	}
	if i == 0 {
		return off
	}
	return n.to[i-1] + off - n.at[i-1]
}

// border maps an offset at which a match begins or ends. After a line ending, it returns the
// beginning of the next line, even if that line contains only white space.
func (n *normal) border(off int) int {
	if off > 0 && n.text[off-1] == '\n' {
		return n.back(off-1) + 1
	}
	if off == 0 {
		return 0
	}
	return n.back(off)
}

func (n *normal) mark(to int) {
	at := len(n.text)
	for k := len(n.at); k > 0 && n.at[k-1] >= at; k-- {
		n.at, n.to = n.at[:k-1], n.to[:k-1]
	}
	n.at, n.to = append(n.at, at), append(n.to, to)
}

// normalize rewrites text line by line. It removes trailing space and, if fold is set, converts
// typographic characters to ASCII.
func normalize(text []byte, fold bool) *normal {
	n := &normal{text: make([]byte, 0, len(text))}
	for start := 0; start < len(text); {
		end := start + bytes.IndexByte(text[start:], '\n')
		if end < start {
			end = len(text)
		}
		from := len(n.text)
		if fold {
			n.fold(text[start:end], start)
		} else {
			n.text = append(n.text, text[start:end]...)
		}
		kept := from + len(trimEnd(n.text[from:]))
		if n.text = n.text[:kept]; kept != from+end-start {
			n.mark(end)
		}
		if end < len(text) {
			n.text = append(n.text, '\n')
		}
		start = end + 1
	}
	return n
}

// trailing is the white space that is ignored at the end of a line.
const trailing = " \t\f\v"

func trimEnd(s []byte) []byte { return bytes.TrimRight(s, trailing) }

// fold appends one line. It decodes only the characters that are not ASCII.
func (n *normal) fold(s []byte, offset int) {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n.text = append(n.text, s[i])
			i++
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		if c := foldRune(r); c != 0 {
			n.text = append(n.text, c)
			i += size
			n.mark(offset + i)
			continue
		}
		n.text = append(n.text, s[i:i+size]...)
		i += size
	}
}

// foldRune returns the ASCII form of a typographic quote, dash or space, otherwise 0.
func foldRune(r rune) byte {
	switch {
	case r >= 0x2018 && r <= 0x201b, r == 0x2032:
		return '\''
	case r >= 0x201c && r <= 0x201f, r == 0x2033:
		return '"'
	case r >= 0x2010 && r <= 0x2015, r == 0x2212:
		return '-'
	case r == 0xa0, r >= 0x2000 && r <= 0x200a, r == 0x202f, r == 0x205f, r == 0x3000:
		return ' '
	}
	return 0
}

func (m *matcher) normal(t Tier) *normal {
	if m.byTier[t] == nil {
		m.byTier[t] = normalize(m.text, t == T4)
	}
	return m.byTier[t]
}

// normalized finds old at tier T2 or T4. It returns substrings of the normalized text that do not
// split a word, and that end at the end of a line if space was trimmed from old.
func (m *matcher) normalized(t Tier, old string, limit int) []place {
	n := m.normal(t)
	pat := normalize([]byte(old), t == T4).text
	if len(bytes.TrimSpace(pat)) == 0 {
		return nil
	}
	trimmed := len(trimEnd([]byte(old))) != len(old)
	var out []place
	for at := 0; len(out) < limit; {
		i := bytes.Index(n.text[at:], pat)
		if i < 0 {
			break
		}
		start, end := at+i, at+i+len(pat)
		at = start + 1
		if trimmed && end < len(n.text) && n.text[end] != '\n' || !wholeWords(n.text, start, end) {
			continue
		}
		if s, e := n.border(start), n.border(end); m.fits(s, e) {
			out = append(out, place{start: s, end: e})
		}
	}
	return out
}

// wholeWords reports whether text[start:end] neither begins nor ends inside a word.
func wholeWords(text []byte, start, end int) bool {
	return !insideWord(text, start) && !insideWord(text, end)
}

func insideWord(text []byte, i int) bool {
	if i <= 0 || i >= len(text) {
		return false
	}
	before, _ := utf8.DecodeLastRune(text[:i])
	after, _ := utf8.DecodeRune(text[i:])
	return isWord(before) && isWord(after)
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// keepForm returns the new line with the file's typographic characters in the parts that also occur
// in the old line. old and file correspond rune by rune, because tier T4 found them. If pair is
// false, old and new may be unrelated, so they must be similar.
func keepForm(old, new, file string, pair bool) string {
	ro, rn, rf := []rune(old), []rune(new), []rune(file)
	if len(rf) < len(ro) {
		return new
	}
	chunks := diffIDs(intern(ro, rn))
	equal := len(ro)
	for _, c := range chunks {
		equal -= c.a1 - c.a0
	}
	alike := 2*equal >= max(len(ro), len(rn))
	if !pair && !alike {
		return new
	}
	var b strings.Builder
	// If the lines differ much, equal punctuation in the middle does not mean equal text.
	keep := func(from, to int, border bool) {
		run := ro[from:to]
		if alike || border || slices.ContainsFunc(run, isWord) {
			run = rf[from:to]
		}
		b.WriteString(string(run))
	}
	at := 0
	for k, c := range chunks {
		keep(at, c.a0, k == 0)
		b.WriteString(string(rn[c.b0:c.b1]))
		at = c.a1
	}
	keep(at, len(ro), true)
	return b.String()
}
