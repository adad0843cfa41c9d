package message

import "unicode/utf8"

// ValidUTF8 replaces each invalid byte of s with U+FFFD. The result is the same if s is split
// between two characters and the parts are converted separately.
func ValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
