package launcher

import (
	"strings"
	"unicode"
)

// toASCII replaces the characters that case folding and canonical decomposition turn into ASCII.
var toASCII = strings.NewReplacer("ſ", "s", "\u212a", "k", "ß", "ss", "ẞ", "ss", "ﬀ", "ff",
	"ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// Fold returns the form in which names are compared with the lists of protected names. File systems
// that ignore case, such as those of macOS, also treat ſ as s and the ligature ﬁ as fi, and some
// ignore invisible characters.
func Fold(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		name = toASCII.Replace(strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Variation_Selector,
				unicode.Other_Default_Ignorable_Code_Point) {
				return -1
			}
			return r
		}, name))
	}
	return strings.ToLower(name)
}
