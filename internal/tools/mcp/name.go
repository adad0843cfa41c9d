package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is what providers take as a tool's name, of the characters a-z A-Z 0-9 _ and -.
const maxName = 64

// toolName is the name under which a server's tool is offered: server_tool within the
// providers' limits. What had to be changed gets a hash, so that two tools never become one.
func toolName(server, tool string) string {
	full := server + "_" + tool
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, full)
	if name == full && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	tag := "_" + hex.EncodeToString(sum[:3])
	return name[:min(len(name), maxName-len(tag))] + tag
}
