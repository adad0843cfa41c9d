package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// plainUnits counts UTF-16 units character by character.
func plainUnits(s []byte) (n uint32) {
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		if n++; r > 0xFFFF {
			n++
		}
		s = s[size:]
	}
	return n
}

// TestLongLines compares the fast counting of long lines, which reads whole words, with plain
// counting. The text changes and is not always valid UTF-8.
func TestLongLines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ä", "€", "😀", "abcdefgh", "𝒳y"}),
			5, 40).Draw(rt, "parts")
		text := []byte(strings.Repeat(strings.Join(parts, ""), 1+longLine/len(parts)))
		x := NewLineIndex(text)
		for range 6 {
			start := rapid.IntRange(0, len(text)).Draw(rt, "start")
			end := min(len(text), start+rapid.IntRange(0, 4).Draw(rt, "length"))
			if rapid.Bool().Draw(rt, "at characters") {
				for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
					start--
				}
				for end < len(text) && !utf8.RuneStart(text[end]) {
					end++
				}
			}
			with := rapid.SampledFrom([]string{"", "x", "ö", "😀", "\xff", "\x80"}).Draw(rt, "with")
			text = slices.Concat(text[:start], []byte(with), text[end:])
			x.Splice(text, start, end, len(with))
			at := rapid.IntRange(0, len(text)).Draw(rt, "at")
			for x.isValid(text) && at < len(text) && !utf8.RuneStart(text[at]) {
				at--
			}
			if got, want := x.Position(text, at, UTF16).Character,
				plainUnits(text[:at]); got != want {
				rt.Fatalf("position of %d: %d, want %d", at, got, want)
			}
			if got := x.Offset(text, Position{Character: plainUnits(text[:at])},
				UTF16); utf8.Valid(text) && got != at {
				rt.Fatalf("offset of %d: %d", at, got)
			}
			if got := x.isValid(text); got != utf8.Valid(text) {
				rt.Fatalf("valid: %v", got)
			}
		}
	})
}
