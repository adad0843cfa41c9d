package text

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// Splice replaces the bytes from Start to End (exclusive) of a text with Text. The offsets count
// bytes and belong to one text only. Text is shared, so its bytes must not be changed.
type Splice struct {
	Start, End int
	Text       []byte
}

// Trim returns s without the bytes at both ends that the splice would leave unchanged. The result
// may be empty and shares the memory of s. text has at least s.End bytes.
func Trim(text []byte, s Splice) Splice {
	old := text[s.Start:s.End]
	n := commonPrefix(old, s.Text)
	old, s.Text, s.Start = old[n:], s.Text[n:], s.Start+n
	m := commonSuffix(old, s.Text)
	s.Text, s.End = s.Text[:len(s.Text)-m], s.End-m
	return s
}

// chunks are the steps in which equal bytes are skipped, because bytes.Equal is much faster than a
// loop.
var chunks = []int{4096, 64, 1}

func commonPrefix(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for _, c := range chunks {
		for i+c <= n && bytes.Equal(a[i:i+c], b[i:i+c]) {
			i += c
		}
	}
	return i
}

func commonSuffix(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for _, c := range chunks {
		for i+c <= n && bytes.Equal(a[len(a)-i-c:len(a)-i], b[len(b)-i-c:len(b)-i]) {
			i += c
		}
	}
	return i
}

// Apply returns text with all splices applied, in newly allocated memory. The splices are sorted by
// offset, do not overlap, and all refer to the given text.
func Apply(text []byte, splices []Splice) []byte {
	n := len(text)
	for _, s := range splices {
		n += len(s.Text) - (s.End - s.Start)
	}
	out := make([]byte, 0, n)
	at := 0
	for _, s := range splices {
		out = append(append(out, text[at:s.Start]...), s.Text...)
		at = s.End
	}
	return append(out, text[at:]...)
}

// maxCompared is the maximum size, in bytes, of texts that are compared line by line.
const maxCompared = 1 << 20

// Lines returns the splices of whole lines that turn the first text into the second. The last
// splice in the text comes first, so that a caller can apply one after the other without shifting
// offsets. A hunk between two splices only changes its position. Above 1 MiB, Lines does not
// compare and returns one splice.
func Lines(from, to []byte) (out []Splice) {
	if max(len(from), len(to)) > maxCompared {
		return []Splice{Trim(from, Splice{Start: 0, End: len(from), Text: to})}
	}
	for _, h := range slices.Backward(edit.Hunks(from, to)) {
		out = append(out, Trim(from, Splice{Start: h.BaseStart, End: h.BaseEnd, Text: h.New}))
	}
	return out
}

// CountLines returns the number of lines of text. A last line without a line end is counted too.
func CountLines(text []byte) int {
	n := bytes.Count(text, []byte{'\n'})
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// ApplyClamped works like Apply for splices that were computed from another text. Offsets beyond
// the end of text are treated as the end.
func ApplyClamped(text []byte, spans []Splice) []byte {
	n := len(text)
	cut := make([]Splice, len(spans))
	for i, s := range spans {
		cut[i] = Splice{min(s.Start, n), min(s.End, n), s.Text}
	}
	return Apply(text, cut)
}

// Minimal works like Trim for a splice that is sent to an editor. LSP positions can name both ends
// of the result. The ends are not inside a character or inside "\r\n" and, if that can be avoided,
// not on the empty last line, which some editors do not have.
func Minimal(text []byte, s Splice) Splice {
	full := s
	s = Trim(text, s)
	head := s.Start - full.Start
	tail := full.End - s.End
	for head > 0 && splitsAt(text, full.Start+head, full.Text, head) {
		head--
	}
	for tail > 0 && splitsAt(text, full.End-tail, full.Text, len(full.Text)-tail) {
		tail--
	}
	s = Splice{full.Start + head, full.End - tail, full.Text[head : len(full.Text)-tail]}
	return offLastLine(text, s)
}

// splitsAt reports whether one of two offsets is inside a character or a "\r\n".
func splitsAt(a []byte, i int, b []byte, j int) bool { return inside(a, i) || inside(b, j) }

func inside(s []byte, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	return !utf8.RuneStart(s[i]) || s[i-1] == '\r' && s[i] == '\n'
}

// offLastLine moves an edit at the end of text to the position before the final line end, if text
// has one. Neovim 0.10 has no line after the final line end and would leave an empty line.
func offLastLine(text []byte, s Splice) Splice {
	eol := lastEOL(text)
	k := len(eol)
	old := text[s.Start:s.End]
	ends := func(b []byte) bool { return len(b) == 0 || bytes.HasSuffix(b, eol) }
	if k == 0 || s.End != len(text) || s.Start < k || !bytes.HasSuffix(text[:s.Start], eol) ||
		!ends(old) || !ends(s.Text) {
		return s
	}
	// A lone "\n" that belongs to "\r\n" must not be split off.
	if string(eol) == "\n" && s.Start > 1 && text[s.Start-2] == '\r' {
		return s
	}
	moved := Splice{s.Start - k, s.End - k, nil}
	if len(s.Text) > 0 {
		moved.Text = append(append([]byte(nil), eol...), s.Text[:len(s.Text)-k]...)
	}
	return moved
}

func lastEOL(text []byte) []byte {
	switch {
	case bytes.HasSuffix(text, []byte("\r\n")):
		return text[len(text)-2:]
	case bytes.HasSuffix(text, []byte("\n")):
		return text[len(text)-1:]
	}
	return nil
}
