package rpctest

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// Position is an LSP position. Character is an offset in the negotiated encoding.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is an LSP range. Its end is exclusive.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// TextEdit replaces a range.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// Buffer is a document in the fake editor. Its position arithmetic is deliberately simple: it walks
// the text from the start for every position.
type Buffer struct {
	URI      string
	Language string
	Version  int
	Text     string
	UTF8     bool // whether positions count bytes instead of UTF-16 units
}

// Offset converts a position to a byte offset. A position after the end of a line is treated as the
// end of that line.
func (b *Buffer) Offset(p Position) (int, error) {
	line, off := 0, 0
	for line < p.Line {
		i := strings.IndexAny(b.Text[off:], "\r\n")
		if i < 0 {
			return 0, fmt.Errorf("line %d is past the end of %s (%d lines)", p.Line, b.URI, line+1)
		}
		off += i + 1
		if b.Text[off-1] == '\r' && strings.HasPrefix(b.Text[off:], "\n") {
			off++
		}
		line++
	}
	units := 0
	for off < len(b.Text) && units < p.Character {
		r, size := utf8.DecodeRuneInString(b.Text[off:])
		if r == '\n' || r == '\r' {
			break
		}
		switch {
		case b.UTF8:
			units += size
		case r >= 0x10000:
			units += 2
		default:
			units++
		}
		off += size
	}
	return off, nil
}

// PositionAt converts a byte offset to a position.
func (b *Buffer) PositionAt(off int) Position {
	var p Position
	for i := 0; i < off; {
		r, size := utf8.DecodeRuneInString(b.Text[i:])
		switch {
		case r == '\n', r == '\r' && !strings.HasPrefix(b.Text[i+1:], "\n"):
			p.Line++
			p.Character = 0
		case r == '\r':
		case b.UTF8:
			p.Character += size
		case r >= 0x10000:
			p.Character += 2
		default:
			p.Character++
		}
		i += size
	}
	return p
}

// Apply applies all edits relative to the current text, as LSP specifies.
func (b *Buffer) Apply(edits []TextEdit) error {
	type span struct{ start, end, order int }
	spans := make([]span, len(edits))
	for i, e := range edits {
		s, err := b.Offset(e.Range.Start)
		if err != nil {
			return err
		}
		t, err := b.Offset(e.Range.End)
		if err != nil {
			return err
		}
		spans[i] = span{s, t, i}
	}
	sort.SliceStable(spans, func(i, j int) bool { return spans[i].start < spans[j].start })
	var out strings.Builder
	last := 0
	for _, s := range spans {
		if s.start < last {
			return fmt.Errorf("overlapping edits for %s", b.URI)
		}
		out.WriteString(b.Text[last:s.start])
		out.WriteString(edits[s.order].NewText)
		last = s.end
	}
	out.WriteString(b.Text[last:])
	b.Text = out.String()
	b.Version++
	return nil
}
