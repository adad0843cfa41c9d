package edit

import "bytes"

// line is one line of data. Its content is data[start:end], and its ending is data[end:next].
type line struct{ start, end, next int }

// splitLines splits at LF, CRLF and CR, as LSP positions count lines. A final piece without an
// ending is also a line. An empty text has no lines.
func splitLines(data []byte) []line {
	if bytes.IndexByte(data, '\r') < 0 {
		return splitLF(data)
	}
	var out []line
	start := 0
	for i := 0; i < len(data); i++ {
		switch {
		case data[i] == '\n':
			out = append(out, line{start, i, i + 1})
			start = i + 1
		case data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n':
			out = append(out, line{start, i, i + 2})
			i++
			start = i + 1
		case data[i] == '\r':
			out = append(out, line{start, i, i + 1})
			start = i + 1
		}
	}
	if start < len(data) {
		out = append(out, line{start, len(data), len(data)})
	}
	return out
}

func splitLF(data []byte) []line {
	out := make([]line, 0, bytes.Count(data, []byte("\n"))+1)
	for start := 0; start < len(data); {
		i := bytes.IndexByte(data[start:], '\n')
		if i < 0 {
			return append(out, line{start, len(data), len(data)})
		}
		out = append(out, line{start, start + i, start + i + 1})
		start += i + 1
	}
	return out
}

// isLineStart reports whether a line begins at offset i. If data ends with a line ending, a line
// also begins at the end of data.
func isLineStart(data []byte, i int) bool {
	if i == 0 || data[i-1] == '\n' {
		return true
	}
	return data[i-1] == '\r' && (i == len(data) || data[i] != '\n')
}

// countLines returns the number of line endings in data.
func countLines(data []byte) int {
	lf, crlf, cr := countEOL(data)
	return lf + crlf + cr
}

// toLF replaces CRLF and CR with LF, because models' texts are compared in this form.
func toLF(s string) string {
	if !bytes.ContainsRune([]byte(s), '\r') {
		return s
	}
	return string(newView([]byte(s)).text)
}

// view contains text in which every line ending is LF, and the mapping back to the original text.
type view struct {
	base []byte
	text []byte
	crlf []int // offsets in text of the LFs that are two bytes in base, ascending
}

func newView(base []byte) *view {
	if bytes.IndexByte(base, '\r') < 0 {
		return &view{base: base, text: base}
	}
	v := &view{base: base, text: make([]byte, 0, len(base))}
	for i := 0; i < len(base); i++ {
		c := base[i]
		if c == '\r' {
			c = '\n'
			if i+1 < len(base) && base[i+1] == '\n' {
				v.crlf = append(v.crlf, len(v.text))
				i++
			}
		}
		v.text = append(v.text, c)
	}
	return v
}

// orig maps an offset in text to an offset in base. The result is never inside a CRLF.
func (v *view) orig(off int) int {
	lo, hi := 0, len(v.crlf)
	for lo < hi {
		if mid := (lo + hi) / 2; v.crlf[mid] < off {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return off + lo
}

// eolAt returns the ending, as in base, of the line that contains text offset off, or "" for a last
// line without one.
func (v *view) eolAt(off int) string {
	i := bytes.IndexByte(v.text[off:], '\n')
	if i < 0 {
		return ""
	}
	return string(v.base[v.orig(off+i):v.orig(off+i+1)])
}

// eolBefore returns the last ending, as in base, before text offset off.
func (v *view) eolBefore(off int) string {
	i := bytes.LastIndexByte(v.text[:off], '\n')
	if i < 0 {
		return ""
	}
	return string(v.base[v.orig(i):v.orig(i+1)])
}

// lineOf returns the 1-based line number of text offset off.
func (v *view) lineOf(off int) int { return 1 + bytes.Count(v.text[:off], []byte("\n")) }
