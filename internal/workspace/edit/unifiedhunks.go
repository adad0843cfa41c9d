package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// UnifiedHunks returns Unified of base and of base with all hunks applied, without comparing the
// two again. Its cost is proportional to the size of the output. The hunks are sorted and disjoint.
// Only their BaseStart, BaseEnd and New are used.
func UnifiedHunks(oldName, newName string, base []byte, hunks []Hunk, context int) string {
	if !wholeLines(base, hunks) {
		return Unified(oldName, newName, base, ApplyHunks(base, hunks, nil), context)
	}
	w := &hunkWriter{base: base, hunks: hunks, context: max(0, context)}
	for i := 0; i < len(hunks); {
		j := w.group(i)
		if w.out.Len() == 0 {
			fmt.Fprintf(&w.out, "--- %s\n+++ %s\n", HeaderName(oldName), HeaderName(newName))
		}
		w.write(i, j)
		i = j
	}
	return w.out.String()
}

// wholeLines reports whether each hunk changes something and replaces complete lines with complete
// lines. As in diffs, lines end only at LF.
func wholeLines(base []byte, hunks []Hunk) bool {
	starts := func(i int) bool { return i == 0 || base[i-1] == '\n' }
	for _, h := range hunks {
		ends := len(h.New) == 0 || h.New[len(h.New)-1] == '\n'
		if !starts(h.BaseStart) || h.BaseEnd != len(base) && !(starts(h.BaseEnd) && ends) ||
			bytes.Equal(base[h.BaseStart:h.BaseEnd], h.New) {
			return false
		}
	}
	return true
}

// hunkWriter writes groups of hunks. at, line and shift are its progress.
type hunkWriter struct {
	base    []byte
	hunks   []Hunk
	context int
	out     strings.Builder
	at      int // offset in base
	line    int // number of lines in base before at
	shift   int // number of additional lines in the new text up to at
}

// group returns the end of the hunks that share their context with hunk i.
func (w *hunkWriter) group(i int) int {
	j := i + 1
	for j < len(w.hunks) && bytes.Count(w.base[w.hunks[j-1].BaseEnd:w.hunks[j].BaseStart],
		[]byte("\n")) <= 2*w.context {
		j++
	}
	return j
}

func (w *hunkWriter) write(i, j int) {
	from, to := w.hunks[i].BaseStart, w.hunks[j-1].BaseEnd
	for n := 0; n < w.context && from > 0; n++ {
		from = bytes.LastIndexByte(w.base[:from-1], '\n') + 1
	}
	for n := 0; n < w.context && to < len(w.base); n++ {
		if eol := bytes.IndexByte(w.base[to:], '\n'); eol >= 0 {
			to += eol + 1
		} else {
			to = len(w.base)
		}
	}
	old, more, size := lineCount(w.base[from:to]), 0, to-from
	for _, h := range w.hunks[i:j] {
		more += lineCount(h.New) - lineCount(w.base[h.BaseStart:h.BaseEnd])
		size += len(h.New)
	}
	w.out.Grow(size + 2*old + more + 64)
	w.line += bytes.Count(w.base[w.at:from], []byte("\n"))
	fmt.Fprintf(&w.out, "@@ -%s +%s @@\n", lineSpan(w.line, w.line+old),
		lineSpan(w.line+w.shift, w.line+w.shift+old+more))
	at := from
	for _, h := range w.hunks[i:j] {
		w.lines(' ', w.base[at:h.BaseStart])
		w.lines('-', w.base[h.BaseStart:h.BaseEnd])
		w.lines('+', h.New)
		at = h.BaseEnd
	}
	w.lines(' ', w.base[at:to])
	w.at, w.shift = from, w.shift+more
}

func (w *hunkWriter) lines(kind byte, data []byte) {
	for len(data) > 0 {
		w.out.WriteByte(kind)
		eol := bytes.IndexByte(data, '\n')
		if eol < 0 {
			w.out.Write(data)
			w.out.WriteString("\n\\ No newline at end of file\n")
			return
		}
		w.out.Write(data[:eol+1])
		data = data[eol+1:]
	}
}

// lineCount returns the number of lines that end at LF, plus one if text follows the last LF.
func lineCount(data []byte) int {
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}
