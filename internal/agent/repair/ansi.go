package repair

import "strings"

// StripANSI removes terminal escape sequences: CSI, OSC, DCS and the other string sequences,
// charset selections and single escapes.
func StripANSI(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 &&
		!strings.Contains(s, "\u009b") { // two calls of Contains are much faster than ContainsAny
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	open := 0 // no string sequence ends before this offset
	for i := 0; i < len(s); {
		switch {
		case s[i] == 0x1b:
			n := escapeLen(s[i:], max(open-i, 0))
			if n == 2 && i+1 < len(s) && strings.IndexByte(stringStarts, s[i+1]) >= 0 {
				open = max(open, i+2+maxString)
			}
			i += n
		case strings.HasPrefix(s[i:], "\u009b"): // CSI as one character
			i += 2 + csiLen(s[i+2:])
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

// stringStarts follow ESC at the start of OSC, DCS, SOS, PM and APC.
const stringStarts = "]PX^_"

// charsetStarts follow ESC at the start of a charset selection or another sequence with one more
// byte.
const charsetStarts = "()*+-./#% "

// escapeLen returns the length of the sequence at the start of s, which begins with ESC. clear is
// an offset before which no string sequence ends.
func escapeLen(s string, clear int) int {
	if len(s) < 2 {
		return len(s)
	}
	switch c := s[1]; {
	case c == '[':
		return 2 + csiLen(s[2:])
	case strings.IndexByte(stringStarts, c) >= 0:
		return 2 + stringLen(s[2:], max(clear-2, 0))
	case strings.IndexByte(charsetStarts, c) >= 0:
		return min(3, len(s))
	case 0x30 <= c && c <= 0x7e:
		return 2
	}
	return 1
}

// maxParams bounds the length of a control sequence's parameters. Without it, a reply that consists
// of digits could be swallowed.
const maxParams = 256

// csiLen returns the length of a control sequence's parameters and final byte.
func csiLen(s string) int {
	i := 0
	for i < len(s) && i < maxParams && 0x20 <= s[i] && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && i < maxParams && 0x40 <= s[i] && s[i] <= 0x7e {
		i++
	}
	return i
}

// maxString bounds the length of a string sequence, so that a sequence without an end cannot
// swallow the reply.
const maxString = 4096

// stringLen returns the length of a string sequence up to BEL or ST, or 0 if neither follows. clear
// is the offset at which the search starts.
func stringLen(s string, clear int) int {
	for i := clear; i < len(s) && i < maxString; i++ {
		if s[i] == 0x07 {
			return i + 1
		}
		if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
			return i + 2
		}
	}
	return 0
}

// ANSIStream strips escape sequences from text that arrives in pieces. A piece may end within a
// sequence. The zero value is ready to use.
type ANSIStream struct{ held string }

// Add adds a piece and returns the text that can be shown now.
func (a *ANSIStream) Add(piece string) string {
	s := a.held + piece
	a.held = ""
	if i := unfinishedAt(s); i < len(s) {
		s, a.held = s[:i], s[i:]
	}
	return StripANSI(s)
}

// End returns the text that was held back.
func (a *ANSIStream) End() string {
	s := a.held
	a.held = ""
	return StripANSI(s)
}

// unfinishedAt returns the offset of an unfinished sequence at the end of s, or the length of s if
// there is none.
func unfinishedAt(s string) int {
	for i := 0; i < len(s); {
		n := strings.IndexAny(s[i:], "\x1b\u009b")
		if n < 0 {
			return len(s) - len(cutIntroducer(s))
		}
		i += n
		if unfinishedEscape(s[i:]) {
			return i
		}
		if s[i] == 0x1b {
			i += escapeLen(s[i:], 0)
		} else {
			i += len("\u009b") + csiLen(s[i+len("\u009b"):])
		}
	}
	return len(s)
}

// cutIntroducer returns the first byte of U+009B if s ends with it.
func cutIntroducer(s string) string {
	if strings.HasSuffix(s, "\u009b"[:1]) {
		return "\u009b"[:1]
	}
	return ""
}

// unfinishedEscape reports whether the sequence at the start of s may continue after the end of s.
func unfinishedEscape(s string) bool {
	if rest, ok := strings.CutPrefix(s, "\u009b"); ok {
		return unfinishedCSI(rest)
	}
	if len(s) < 2 {
		return true
	}
	switch c := s[1]; {
	case c == '[':
		return unfinishedCSI(s[2:])
	case strings.IndexByte(stringStarts, c) >= 0: // the last byte may be the first byte of an ST
		return len(s) < 2+maxString+1 && stringLen(s[2:], 0) == 0
	case strings.IndexByte(charsetStarts, c) >= 0:
		return len(s) < 3
	}
	return false
}

// unfinishedCSI is like unfinishedEscape, for the parameters of a control sequence.
func unfinishedCSI(s string) bool {
	n := csiLen(s)
	return n == len(s) && n < maxParams && (n == 0 || s[n-1] < 0x40)
}
