// Package visible makes hidden characters visible.
package visible

import (
	"fmt"
	"strings"
	"unicode"
)

// Text returns s with hidden characters as escapes such as \x1b and \u202e, so that the displayed
// text is the text that takes effect. Line breaks and tabs are escaped too.
func Text(s string) string {
	if !strings.ContainsFunc(s, Hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !Hidden(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// Lines is like Text, but keeps line breaks.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Text(line)
	}
	return strings.Join(lines, "\n")
}

// Hidden reports whether r is invisible or looks like an ordinary space. This includes control,
// bidirectional and zero-width characters, variation selectors, other spaces, and letters without a
// glyph.
func Hidden(r rune) bool {
	switch r {
	case ' ':
		return false
	case 0x2800: // a braille cell without dots
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Zs,
		unicode.Co, unicode.Cs, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point)
}
