package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// maxName is the maximum length of a tool's name that providers accept. A name consists of the
// characters a-z A-Z 0-9 _ and -.
const maxName = 64

// toolName returns the name under which a server's tool is offered: server_tool, changed to fit the
// providers' limits. A name that had to be changed, or that may also belong to a rival's tool, gets
// a hash, so that two tools do not get the same name.
func toolName(server, tool string, rivals ...string) string {
	full := server + "_" + tool
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, full)
	if name == full && len(name) <= maxName &&
		!slices.ContainsFunc(rivals, func(r string) bool { return begins(full, r) }) {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	tag := "_" + hex.EncodeToString(sum[:3])
	return name[:min(len(name), maxName-len(tag))] + tag
}

// begins reports whether a name may belong to a tool of the server. The comparison ignores case, as
// the lookup of tools does.
func begins(name, server string) bool {
	return strings.HasPrefix(strings.ToLower(name), strings.ToLower(server)+"_")
}

// rivals returns the other servers whose tool names may begin like those of this server. For
// example, a_b is a rival of a. The function uses only the settings, so that a name does not depend
// on which server starts first.
func rivals(server string, all []Config) (out []string) {
	for _, c := range all {
		if c.Name != server && begins(c.Name+"_", server) {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	return out
}
