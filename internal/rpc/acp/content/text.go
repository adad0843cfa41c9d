package content

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Plain reports whether a client's text can represent a file byte for byte.
func Plain(disk []byte) bool {
	return utf8.Valid(disk) && !bytes.HasPrefix(disk, []byte("\xef\xbb\xbf"))
}

// LikeDisk gives a client's text the line endings of the file on disk, because clients may use
// other line endings. The second result reports whether there is no other difference.
func LikeDisk(text string, disk []byte, err error) (string, bool) {
	if err != nil || text == string(disk) {
		return text, err == nil
	}
	if flat(text) == flat(strings.TrimPrefix(string(disk), "\ufeff")) {
		return string(disk), true
	}
	if n := bytes.Count(disk, []byte("\r\n")); n > 0 && n == bytes.Count(disk, []byte("\n")) &&
		!strings.Contains(text, "\r") {
		return strings.ReplaceAll(text, "\n", "\r\n"), false
	}
	return text, false
}

func flat(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
