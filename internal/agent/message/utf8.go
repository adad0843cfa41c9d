package message

import "unicode/utf8"

// ValidUTF8 replaces each invalid byte of s with U+FFFD. A text that is cut anywhere gives the same
// result in pieces as in one piece.
func ValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
