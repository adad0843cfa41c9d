package modelhttp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxName is the maximum length of a tool's name and of a call's ID. Every provider accepts names
// of this length.
const MaxName = 64

// PlainName converts the name of a tool or the ID of a call to characters that every API accepts:
// letters, digits, "_" and "-". Converted names do not collide with other names. Conversion is
// necessary because a model may call a tool by a name that does not exist, and because IDs of other
// providers contain other characters.
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
