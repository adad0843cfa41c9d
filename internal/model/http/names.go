package modelhttp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxName is the length that every provider allows for the name of a tool and the id of a call.
const MaxName = 64

// PlainName returns the name of a tool or the id of a call in the characters that every API allows:
// letters, digits, "_" and "-". A name with other characters becomes one that no other name has. A
// model may have called a tool by a name that does not exist, and the ids of other providers have
// other characters.
func PlainName(s string) string {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' ||
			r == '-'
	}
	if s != "" && len(s) <= MaxName &&
		strings.IndexFunc(s, func(r rune) bool { return !ok(r) }) < 0 {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	plain := strings.Map(func(r rune) rune {
		if ok(r) {
			return r
		}
		return '_'
	}, s)
	return plain[:min(len(plain), MaxName-17)] + "_" + hex.EncodeToString(sum[:8])
}
