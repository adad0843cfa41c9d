package message

import "unicode/utf8"

// ValidUTF8 replaces each invalid byte of s with U+FFFD. If s is split at any byte and the parts
// are converted separately, the result is the same.
func ValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
