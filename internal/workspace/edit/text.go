package edit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is the encoding of a file's text.
type Encoding string

// The encodings that can be read and written back without loss.
const (
	UTF8    Encoding = "utf-8"
	UTF16LE Encoding = "utf-16le"
	UTF16BE Encoding = "utf-16be"
)

// MaxSize is the size of the largest file, in bytes, that Decode and Match accept. An edit of a
// larger file by a model is a mistake, and a diff would need too much memory.
const MaxSize = 50 << 20

// The errors with which Decode and Encode refuse content. Test for them with errors.Is.
var (
	ErrBinary   = errors.New("binary content")
	ErrEncoding = errors.New("text in an unsupported or broken encoding")
	ErrTooLarge = errors.New("file too large to edit")
)

const (
	bomUTF8    = "\xef\xbb\xbf"
	bomUTF16LE = "\xff\xfe"
	bomUTF16BE = "\xfe\xff"
	bomUTF32LE = "\xff\xfe\x00\x00"
	bomUTF32BE = "\x00\x00\xfe\xff"
)

// Text is a decoded file: the text to show and edit, and the information needed to write it back
// byte for byte.
type Text struct {
	Data     []byte   // UTF-8 without the byte order mark, line endings as in the file
	BOM      bool     // the file began with a byte order mark
	Encoding Encoding // how the file was stored
}

// Decode decodes a file's bytes strictly. It returns ErrTooLarge, or ErrBinary or ErrEncoding for
// bytes that Encode could not restore exactly. Data may share memory with raw.
func Decode(raw []byte) (Text, error) {
	if len(raw) > MaxSize {
		return Text{}, fmt.Errorf("%w: %d bytes, the limit is %d; use a shell command instead",
			ErrTooLarge, len(raw), MaxSize)
	}
	switch {
	case hasPrefix(raw, bomUTF32LE), hasPrefix(raw, bomUTF32BE):
		return Text{}, fmt.Errorf("%w: UTF-32; convert the file to UTF-8 first", ErrEncoding)
	case hasPrefix(raw, bomUTF16LE):
		return decodeUTF16(raw[2:], UTF16LE, binary.LittleEndian)
	case hasPrefix(raw, bomUTF16BE):
		return decodeUTF16(raw[2:], UTF16BE, binary.BigEndian)
	case hasPrefix(raw, bomUTF8):
		return decodeUTF8(raw[3:], true)
	}
	return decodeUTF8(raw, false)
}

func hasPrefix(raw []byte, prefix string) bool {
	return len(raw) >= len(prefix) && string(raw[:len(prefix)]) == prefix
}

func decodeUTF8(data []byte, bom bool) (Text, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return Text{}, fmt.Errorf("%w: NUL byte at offset %d%s", ErrBinary, i, utf16Hint(data))
	}
	if i := invalidAt(data); i >= 0 {
		return Text{}, fmt.Errorf("%w: byte 0x%02x at offset %d is not UTF-8 (an older single-byte encoding?); convert the file to UTF-8 first", ErrEncoding, data[i], i)
	}
	return Text{Data: data, BOM: bom, Encoding: UTF8}, nil
}

// utf16Hint distinguishes UTF-16 without a byte order mark from other binary content.
func utf16Hint(data []byte) string {
	n := min(len(data), 512) &^ 1
	var even, odd int
	for i := 0; i < n; i += 2 {
		if data[i] == 0 {
			even++
		}
		if data[i+1] == 0 {
			odd++
		}
	}
	if n >= 4 && (even > n/4 && odd == 0 || odd > n/4 && even == 0) {
		return " (UTF-16 without a byte order mark? convert the file to UTF-8 first)"
	}
	return ""
}

func invalidAt(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}

func decodeUTF16(raw []byte, enc Encoding, order binary.ByteOrder) (Text, error) {
	if len(raw)%2 != 0 {
		return Text{}, fmt.Errorf("%w: %s with an odd number of bytes", ErrEncoding, enc)
	}
	data := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i += 2 {
		r := rune(order.Uint16(raw[i:]))
		if utf16.IsSurrogate(r) {
			pair := utf8.RuneError
			if i+4 <= len(raw) {
				pair = utf16.DecodeRune(r, rune(order.Uint16(raw[i+2:])))
			}
			if pair == utf8.RuneError {
				return Text{}, fmt.Errorf("%w: %s with a lone surrogate at offset %d", ErrEncoding,
					enc, i+2)
			}
			r, i = pair, i+2
		}
		if r == 0 {
			return Text{}, fmt.Errorf("%w: NUL character at offset %d", ErrBinary, i+2)
		}
		data = utf8.AppendRune(data, r)
	}
	return Text{Data: data, BOM: true, Encoding: enc}, nil
}

// Encode is the exact inverse of Decode. It fails with ErrEncoding if Data is not valid UTF-8 or
// Encoding is unknown, and never writes a replacement character. The zero Encoding means UTF8.
func (t Text) Encode() ([]byte, error) {
	if i := invalidAt(t.Data); i >= 0 {
		return nil, fmt.Errorf("%w: byte 0x%02x at offset %d is not UTF-8", ErrEncoding, t.Data[i],
			i)
	}
	switch t.Encoding {
	case UTF8, "":
		if !t.BOM {
			return t.Data, nil
		}
		return append([]byte(bomUTF8), t.Data...), nil
	case UTF16LE:
		return t.encodeUTF16(bomUTF16LE, binary.LittleEndian), nil
	case UTF16BE:
		return t.encodeUTF16(bomUTF16BE, binary.BigEndian), nil
	}
	return nil, fmt.Errorf("%w: unknown encoding %q", ErrEncoding, t.Encoding)
}

// encodeUTF16 always writes the byte order mark. Without it, the file could not be read again.
func (t Text) encodeUTF16(bom string, order binary.AppendByteOrder) []byte {
	out := append(make([]byte, 0, 2*len(t.Data)+2), bom...)
	for i := 0; i < len(t.Data); {
		r, size := utf8.DecodeRune(t.Data[i:])
		i += size
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			out = order.AppendUint16(order.AppendUint16(out, uint16(hi)), uint16(lo))
			continue
		}
		out = order.AppendUint16(out, uint16(r))
	}
	return out
}

// EOL returns the kind of line ending that data uses: "lf", "crlf", "cr", "mixed" or "none".
func EOL(data []byte) string {
	lf, crlf, cr := countEOL(data)
	switch total := lf + crlf + cr; {
	case total == 0:
		return "none"
	case lf == total:
		return "lf"
	case crlf == total:
		return "crlf"
	case cr == total:
		return "cr"
	}
	return "mixed"
}

func countEOL(data []byte) (lf, crlf, cr int) {
	lf = bytes.Count(data, []byte("\n"))
	all := bytes.Count(data, []byte("\r"))
	if all == 0 {
		return lf, 0, 0
	}
	crlf = bytes.Count(data, []byte("\r\n"))
	return lf - crlf, crlf, all - crlf
}

// majorityEOL returns the most frequent line ending in data, or "\n" without line endings.
func majorityEOL(data []byte) string {
	lf, crlf, cr := countEOL(data)
	switch {
	case lf >= crlf && lf >= cr:
		return "\n"
	case crlf >= cr:
		return "\r\n"
	}
	return "\r"
}
