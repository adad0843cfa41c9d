package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// keyOf derives a key from the first words of a memory's content and a hash of the content.
func keyOf(content string) string {
	words := strings.FieldsFunc(strings.ToLower(content), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	key := strings.Join(words[:min(len(words), 5)], "-")
	for len(key) > 60 {
		_, n := utf8.DecodeLastRuneInString(key)
		key = key[:len(key)-n]
	}
	return key + "-" + same(content)[:6]
}

// same returns a hash of a memory's content. Two contents that differ only in case, white space,
// and punctuation at either end have the same hash.
func same(content string) string {
	words := strings.Fields(strings.ToLower(content))
	text := strings.TrimFunc(strings.Join(words, " "), func(r rune) bool {
		return unicode.IsPunct(r) || unicode.IsSpace(r)
	})
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}
