package modelhttp

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Joiner collects text from JSON strings. The text may be split anywhere, even inside a rune or
// between the two halves of a surrogate pair.
type Joiner struct {
	Text []byte // everything returned so far
	rest []byte // the beginning of an incomplete rune
	high rune   // a high surrogate that waits for its low surrogate; 0 if there is none
}

// Add adds a JSON string, including its quotes, and returns the new text in complete runes.
func (l *Joiner) Add(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	in := raw[1 : len(raw)-1]
	if len(l.rest) == 0 && l.high == 0 &&
		bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) { // this is the case for nearly all strings
		l.Text = append(l.Text, in...)
		return string(in)
	}
	from := len(l.Text)
	out := append(l.Text, l.rest...)
	l.rest = nil
	for i := 0; i < len(in); {
		if in[i] != '\\' {
			end := i
			for end < len(in) && in[end] != '\\' {
				end++
			}
			out = append(l.flushHigh(out), in[i:end]...)
			i = end
			continue
		}
		var n int
		out, n = l.escape(out, in[i:])
		i += n
	}
	return l.give(out, from)
}

// AddText adds plain text.
func (l *Joiner) AddText(s string) string {
	from := len(l.Text)
	out := append(append(l.Text, l.rest...), s...)
	l.rest = nil
	return l.give(out, from)
}

// End returns the bytes that were held back for a continuation that never arrived.
func (l *Joiner) End() string {
	out := l.flushHigh(nil)
	if len(l.rest) > 0 {
		out = append(out, "\uFFFD"...)
	}
	l.rest = nil
	l.Text = append(l.Text, out...)
	return string(out)
}

// give takes over the text that was appended to Text from an index on, and returns it. It holds
// back an incomplete rune at the end.
func (l *Joiner) give(all []byte, from int) string {
	if cut := unfinished(all[from:]); cut > 0 {
		l.rest = append([]byte(nil), all[len(all)-cut:]...)
		all = all[:len(all)-cut]
	}
	s := string(all[from:])
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		all = append(all[:from], s...)
	}
	l.Text = all
	return s
}

// unfinished returns the number of bytes at the end of b that belong to an incomplete rune.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

func (l *Joiner) flushHigh(out []byte) []byte {
	if l.high != 0 {
		l.high = 0
		out = append(out, "\uFFFD"...)
	}
	return out
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r',
	't': '\t'}

// escape appends the character for the escape sequence at the start of in. It returns the length of
// the sequence.
func (l *Joiner) escape(out, in []byte) ([]byte, int) {
	if len(in) < 2 {
		return l.flushHigh(out), len(in)
	}
	if in[1] != 'u' {
		return append(l.flushHigh(out), escapes[in[1]]), 2
	}
	if len(in) < 6 {
		return l.flushHigh(out), len(in)
	}
	v, err := strconv.ParseUint(string(in[2:6]), 16, 32)
	if err != nil {
		return l.flushHigh(out), 6
	}
	r := rune(v)
	if l.high != 0 {
		if pair := utf16.DecodeRune(l.high, r); pair != utf8.RuneError {
			l.high = 0
			return utf8.AppendRune(out, pair), 6
		}
	}
	out = l.flushHigh(out)
	if 0xD800 <= r && r < 0xDC00 {
		l.high = r
		return out, 6
	}
	return utf8.AppendRune(out, r), 6
}
