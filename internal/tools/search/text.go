package search

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// CutLine cuts a line to at most limit bytes, between characters, and marks the cut.
func CutLine(line string, limit int) string {
	if len(line) <= limit {
		return line
	}
	for limit > 0 && !utf8.RuneStart(line[limit]) {
		limit--
	}
	return line[:limit] + " [line cut]"
}

// decodeUTF16 converts UTF-16 with a byte order mark to UTF-8. A file that does not fit into one
// chunk is not converted and is treated as binary.
func decodeUTF16(text []byte, whole bool) ([]byte, bool) {
	var order binary.ByteOrder
	switch {
	case !whole || len(text) < 2:
		return nil, false
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return nil, false
	}
	units := make([]uint16, 0, len(text)/2+1)
	t := text[2:]
	for ; len(t) >= 2; t = t[2:] {
		units = append(units, order.Uint16(t))
	}
	if len(t) > 0 {
		units = append(units, utf8.RuneError) // an odd byte at the end
	}
	return []byte(string(utf16.Decode(units))), true
}

// lower converts text to lower case, in place if the text is ASCII.
func lower(text []byte) []byte {
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return bytes.ToLower(text)
		}
		if 'A' <= c && c <= 'Z' {
			text[i] = c | 0x20
		}
	}
	return text
}
