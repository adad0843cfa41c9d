package message

import "unicode/utf8"

// ValidUTF8 replaces each invalid byte of s with U+FFFD. If a text is split at any byte, the parts
// together give the same result as the whole text.
func ValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
