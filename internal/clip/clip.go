// Package clip shortens text for users and for models.
package clip

import (
	"fmt"
	"strings"
)

// Bytes returns s if it has at most n bytes, and otherwise the complete characters in its first n
// bytes and an ellipsis. It drops invalid bytes from a string that it shortens.
func Bytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Counted returns s if it has at most n bytes, and otherwise the result of Bytes and the number of
// bytes of s.
func Counted(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Bytes(s, n) + fmt.Sprintf(" (%d bytes)", len(s))
}

// Line returns s as one line of at most n characters. It separates words by one space and shortens
// the line like Runes.
func Line(s string, n int) string {
	if enough := 16 * n; len(s) > enough { // n characters and many spaces fit into this
		s = strings.ToValidUTF8(s[:enough], "")
	}
	return Runes(strings.Join(strings.Fields(s), " "), n)
}

// Runes returns s if it has at most n characters, and otherwise n characters of which the last is
// an ellipsis.
func Runes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
