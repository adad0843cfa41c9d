package text

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"unicode/utf8"
)

// Encoding is the unit in which a position counts characters within its line.
type Encoding int

// The encodings that can be negotiated.
const (
	UTF16 Encoding = iota // LSP's default
	UTF8
)

// Position is an LSP position. Line and character are zero-based, and the character is counted in
// the negotiated Encoding.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Range is an LSP range. End is exclusive.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// LineIndex converts between the three ways to name a position in a text: the byte offset (used
// everywhere inside the program), the LSP position in UTF-16 code units and the LSP position in
// bytes.
//
// LineIndex is a type and not a function because an offset is only valid together with the text
// from which it was computed. The known bugs of this kind in other programs use an offset from one
// text on another text, or a UTF-16 count as a byte count. The index therefore stores the starts of
// the lines, and the splice that changes the text also updates the index.
//
// A line ends at "\n", "\r\n" or a lone "\r", as in LSP and in editors. U+2028 and form feeds do
// not end a line. starts[0] is 0. The text after the last terminator is a line too, even if it is
// empty. A text therefore always has at least one line, and a text that ends in "\n" has an empty
// last line on which an editor can put its cursor.
//
// Positions from a client are accepted leniently, because a crash or a refused keystroke helps no
// user. A line beyond the end means the end of the text. A character beyond the line means the end
// of the line before its terminator. A character inside a surrogate pair or a UTF-8 sequence means
// the start of that character. A byte that is not UTF-8 is counted as one unit in both encodings.
//
// A splice updates the index in time proportional to the inserted text, plus a shift of the starts
// that follow. Whether a line starts at p depends only on the bytes p-1 and p, so only the
// positions in [start, start+inserted] have to be examined again. This handles splitting and
// joining "\r\n" correctly.
//
// In UTF-16, the characters of a line have to be counted. A long line is counted eight bytes at a
// time, which is correct only for valid UTF-8. The index checks the validity when it first needs it
// and keeps the result up to date from then on.
type LineIndex struct {
	starts []int
	utf8   atomic.Int32 // whether the text is valid; readers compute it when they first need it
}

type validity = int32

const (
	notLooked validity = iota
	valid
	invalid
)

// longLine is the minimum length, in bytes, of a line whose characters are counted eight bytes at a
// time.
const longLine = 1 << 10

// NewLineIndex indexes text.
func NewLineIndex(text []byte) *LineIndex {
	x := &LineIndex{starts: make([]int, 1, bytes.Count(text, []byte{'\n'})+2)}
	x.starts = appendStarts(x.starts, text, 1, len(text))
	return x
}

// appendStarts appends the offsets from lo to hi (inclusive) at which a line of text starts.
func appendStarts(starts []int, text []byte, lo, hi int) []int {
	for p := max(lo, 1); p <= hi; {
		i := bytes.IndexAny(text[p-1:hi], "\r\n")
		if i < 0 {
			break
		}
		p += i
		if isStart(text, p) {
			starts = append(starts, p)
		}
		p++
	}
	return starts
}

func isStart(text []byte, p int) bool {
	switch text[p-1] {
	case '\n':
		return true
	case '\r':
		return p == len(text) || text[p] != '\n'
	}
	return false
}

// Lines returns the number of lines, which is at least 1.
func (x *LineIndex) Lines() int { return len(x.starts) }

// Splice updates the index after the bytes from start to end of the indexed text were replaced by n
// bytes. text is the new text. The caller must prevent any other use of x during the call.
func (x *LineIndex) Splice(text []byte, start, end, n int) {
	lo, _ := slices.BinarySearch(x.starts, max(start, 1))
	hi, _ := slices.BinarySearch(x.starts, end+1)
	hi = max(hi, lo)
	fresh := appendStarts(nil, text, start, start+n)
	if shift := n - (end - start); shift != 0 {
		for i := hi; i < len(x.starts); i++ {
			x.starts[i] += shift
		}
	}
	x.starts = slices.Replace(x.starts, lo, hi, fresh...)
	was := x.utf8.Load()
	if was == invalid || was == valid && !stillValid(text, start, start+n) {
		x.utf8.Store(notLooked)
	}
}

// stillValid reports whether text is valid UTF-8, provided that it was valid before text[start:end]
// was inserted.
func stillValid(text []byte, start, end int) bool {
	whole := func(p int) bool { return p == len(text) || utf8.RuneStart(text[p]) }
	if r, size := utf8.DecodeLastRune(text[:start]); r == utf8.RuneError && size == 1 {
		return false
	}
	return whole(start) && whole(end) && utf8.Valid(text[start:end])
}

// isValid reports whether text is valid UTF-8. text must be the indexed text.
func (x *LineIndex) isValid(text []byte) bool {
	known := x.utf8.Load()
	if known == notLooked {
		known = invalid
		if utf8.Valid(text) {
			known = valid
		}
		x.utf8.Store(known)
	}
	return known == valid
}

// line returns the bounds of a line without its terminator. The line must exist.
func (x *LineIndex) line(text []byte, n int) (start, end int) {
	start, end = x.starts[n], len(text)
	if n+1 < len(x.starts) {
		end = x.starts[n+1]
	}
	if end > start && text[end-1] == '\n' {
		end--
	}
	if end > start && n+1 < len(x.starts) && text[end-1] == '\r' {
		end--
	}
	return start, end
}

// Offset returns the byte offset of a position in text. text must be the indexed text.
func (x *LineIndex) Offset(text []byte, p Position, enc Encoding) int {
	if int64(p.Line) >= int64(len(x.starts)) {
		return len(text)
	}
	start, end := x.line(text, int(p.Line))
	line := text[start:end]
	if enc == UTF8 {
		return start + utf8Offset(line, p.Character)
	}
	if len(line) < longLine || !x.isValid(text) {
		return start + utf16Offset(line, p.Character)
	}
	at, units := wordUnits(line, p.Character)
	return start + at + utf16Offset(line[at:], p.Character-units)
}

// wordUnits counts the UTF-16 units of valid UTF-8, eight bytes at a time. It stops when fewer than
// eight bytes or at most eight units up to the limit most are left. It returns the number of bytes
// that it read and the number of units. A character is counted at its first byte, as one
// unit, or as two if it has four bytes.
func wordUnits(s []byte, most uint32) (at int, units uint32) {
	const ones = 0x0101010101010101
	for at+8 <= len(s) && most-units > 8 {
		w := binary.LittleEndian.Uint64(s[at:])
		if w&(ones<<7) == 0 {
			at, units = at+8, units+8
			continue
		}
		inner, four := w>>7&^(w>>6)&ones, w>>7&(w>>6)&(w>>5)&(w>>4)&ones
		at, units = at+8, units+8-uint32(bits.OnesCount64(inner))+uint32(bits.OnesCount64(four))
	}
	for at < len(s) && !utf8.RuneStart(s[at]) { // the rest of a character that was already counted
		at++
	}
	return at, units
}

func utf8Offset(line []byte, n uint32) int {
	if int64(n) >= int64(len(line)) {
		return len(line)
	}
	at := int(n)
	for back := at; back >= 0 && at-back < utf8.UTFMax; back-- {
		if utf8.RuneStart(line[back]) {
			if r, size := utf8.DecodeRune(line[back:]); r != utf8.RuneError && back+size > at {
				return back
			}
			break
		}
	}
	return at
}

func utf16Offset(line []byte, n uint32) int {
	i := 0
	for units := uint32(0); i < len(line) && units < n; {
		size, u := advance(line[i:], int(n-units))
		if units+u > n {
			return i
		}
		i, units = i+size, units+u
	}
	return i
}

// advance measures the start of s in bytes and UTF-16 units. It measures a run of at most limit
// ASCII characters, one other character, or one byte that is not UTF-8.
func advance(s []byte, limit int) (size int, units uint32) {
	switch c := s[0]; {
	case c < utf8.RuneSelf:
		k := 0
		for k+8 <= min(len(s), limit) && binary.LittleEndian.Uint64(s[k:])&0x8080808080808080 == 0 {
			k += 8
		}
		return max(k, 1), uint32(max(k, 1))
	case c >= 0xC2 && c <= 0xDF && len(s) > 1 && s[1]&0xC0 == 0x80:
		return 2, 1
	case (c >= 0xE1 && c <= 0xEC || c >= 0xEE && c <= 0xEF) && len(s) > 2 && s[1]&0xC0 == 0x80 &&
		s[2]&0xC0 == 0x80:
		return 3, 1
	}
	r, size := utf8.DecodeRune(s)
	if r > 0xFFFF {
		return size, 2
	}
	return size, 1
}

// Position returns the position of a byte offset in text. text must be the indexed text. An offset
// inside a line's terminator is treated as the end of that line.
func (x *LineIndex) Position(text []byte, offset int, enc Encoding) Position {
	offset = min(max(offset, 0), len(text))
	n, found := slices.BinarySearch(x.starts, offset)
	if !found {
		n--
	}
	start, end := x.line(text, n)
	part := text[start:min(offset, end)]
	if enc == UTF8 {
		return Position{Line: uint32(n), Character: uint32(len(part))}
	}
	at, units := 0, uint32(0)
	if len(part) >= longLine && x.isValid(text) {
		at, units = wordUnits(part, math.MaxUint32)
	}
	return Position{Line: uint32(n), Character: units + utf16Len(part[at:])}
}

func utf16Len(s []byte) (n uint32) {
	for len(s) > 0 {
		size, units := advance(s, len(s))
		s, n = s[size:], n+units
	}
	return n
}

// Range returns the range of text[start:end].
func (x *LineIndex) Range(text []byte, start, end int, enc Encoding) Range {
	return Range{Start: x.Position(text, start, enc), End: x.Position(text, end, enc)}
}

// Clone returns an index of the same text. Later splices of x do not change it.
func (x *LineIndex) Clone() *LineIndex {
	c := &LineIndex{starts: slices.Clone(x.starts)}
	c.utf8.Store(x.utf8.Load())
	return c
}
