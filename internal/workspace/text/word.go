package text

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// WordAt returns the offset of the first occurrence of name as a complete word, or -1.
func WordAt(text []byte, name string) int {
	if name == "" {
		return -1
	}
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(name))
		if i < 0 {
			return -1
		}
		at := from + i
		before, _ := utf8.DecodeLastRune(text[:at])
		after, _ := utf8.DecodeRune(text[at+len(name):])
		if !wordRune(before) && !wordRune(after) {
			return at
		}
		from = at + len(name)
	}
}

func wordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) && r != utf8.RuneError || unicode.IsDigit(r)
}
