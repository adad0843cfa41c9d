package jsonrpc

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// AppendEscaped appends text to dst as the content of a JSON string, without the quotes. Invalid
// UTF-8 becomes U+FFFD, as everywhere on the wire.
func AppendEscaped[T string | []byte](dst []byte, text T) []byte {
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, text[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
			continue
		}
		r, size := decodeRune(text, i)
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, text[start:i]...)
			dst = append(dst, "\ufffd"...)
			i++
			start = i
			continue
		}
		i += size
	}
	return append(dst, text[start:]...)
}

func decodeRune[T string | []byte](text T, i int) (rune, int) {
	end := min(i+utf8.UTFMax, len(text))
	var buf [utf8.UTFMax]byte
	return utf8.DecodeRune(buf[:copy(buf[:], text[i:end])])
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
