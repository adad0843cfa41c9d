package text

import (
	"bytes"
	"slices"
	"testing"
	"unicode/utf8"
)

// slowPosition counts character by character. The test compares Position with it.
func slowPosition(text []byte, offset int, enc Encoding) (p Position) {
	for i := 0; i < offset; {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == '\r' && i+1 < len(text) && text[i+1] == '\n':
			if offset < i+2 {
				return p // an offset within a line ending means the end of that line
			}
			i, p = i+2, Position{Line: p.Line + 1}
			continue
		case r == '\n' || r == '\r':
			i, p = i+1, Position{Line: p.Line + 1}
			continue
		case enc == UTF8:
			p.Character += uint32(min(size, offset-i))
		case r > 0xFFFF:
			p.Character += 2
		default:
			p.Character++
		}
		i += size
	}
	return p
}

// FuzzPositions checks that the index returns the same position as a simple count for every
// character boundary, and that this position maps back to the offset. Any other position must map
// to an offset inside the text. An index that was updated incrementally must equal a newly built
// one.
func FuzzPositions(f *testing.F) {
	f.Add([]byte("a\r\nb\rc\n\xf0\x9f\x98\x80x\xff\n"), uint16(3), uint16(5), []byte("\né"),
		uint8(1), uint32(2), uint32(99))
	f.Add([]byte("long 𝄞 line é"), uint16(9), uint16(0), []byte("\r"), uint8(120), uint32(0),
		uint32(1<<31))
	f.Fuzz(func(t *testing.T, text []byte, at, cut uint16, insert []byte, times uint8, line,
		character uint32) {
		text = bytes.Repeat(text, int(times)%24+1)
		x := NewLineIndex(text)
		check := func() {
			for _, enc := range []Encoding{UTF8, UTF16} {
				for i, checked := 0, 0; i <= len(text) && checked < 400; checked++ {
					p := x.Position(text, i, enc)
					if checked < 32 && p != slowPosition(text, i, enc) {
						t.Fatalf("offset %d of %q: %v, want %v (encoding %d)", i, text, p,
							slowPosition(text, i, enc), enc)
					}
					inTerminator := i > 0 && i < len(text) && text[i-1] == '\r' && text[i] == '\n'
					if back := x.Offset(text, p, enc); back != i && !inTerminator {
						t.Fatalf("offset %d of %q is %v, which is offset %d (encoding %d)", i, text,
							p, back, enc)
					}
					_, size := utf8.DecodeRune(text[i:])
					i += max(size, 1)
				}
				if o := x.Offset(text, Position{Line: line, Character: character}, enc); o < 0 ||
					o > len(text) {
					t.Fatalf("offset %d of %d bytes", o, len(text))
				}
			}
		}
		check()
		start := int(at) % (len(text) + 1)
		end := min(start+int(cut)%64, len(text))
		text = slices.Concat(text[:start], insert, text[end:])
		x.Splice(text, start, end, len(insert))
		if fresh := NewLineIndex(text); !slices.Equal(fresh.starts, x.starts) {
			t.Fatalf("line starts of %q: %v, want %v", text, x.starts, fresh.starts)
		}
		check()
	})
}
