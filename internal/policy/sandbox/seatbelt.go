package sandbox

import "strings"

// seatbeltPrefix returns the macOS sandbox-exec command line. It is compiled on every system, so
// that its text is tested everywhere.
func seatbeltPrefix(s Spec) []string {
	return []string{"/usr/bin/sandbox-exec", "-p", seatbeltProfile(s)}
}

// seatbeltProfile allows reading everything, and writing only to a few devices and below the named
// paths.
func seatbeltProfile(s Spec) string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	b.WriteString(
		"(allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") (regex #\"^/dev/fd/\") (literal \"/dev/stdout\") (literal \"/dev/stderr\"))\n",
	)
	for _, w := range append(append([]string(nil), s.Writable...), s.Tmp) {
		if w != "" {
			b.WriteString("(allow file-write* (subpath " + seatbeltString(w) + "))\n")
		}
	}
	if !s.Network {
		b.WriteString("(deny network*)\n")
	}
	return b.String()
}

// seatbeltString quotes a path. A quote in a folder's name must not end the string.
func seatbeltString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
