package launcher

import (
	"os"
	"strings"
)

// gitSetting is one line of a Git configuration file. Section and key are in lower case.
type gitSetting struct{ section, key, value string }

// largeSettings is the size above which a configuration file is not read, in bytes.
const largeSettings = 1 << 20

// gitSettings reads a Git configuration file. It omits the names of subsections and skips lines
// that it cannot parse.
func gitSettings(file string) []gitSetting {
	fi, err := os.Stat(file)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > largeSettings {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	text := strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\ufeff")
	var out []gitSetting
	section := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", ""), "\n") {
		line = strings.TrimSpace(line)
		if head, rest, ok := strings.Cut(line, "]"); ok && strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.TrimSpace(head[1:]))
			if end := strings.IndexAny(section, " \t."); end >= 0 {
				section = section[:end] // a subsection follows
			}
			line = strings.TrimSpace(rest)
		}
		if key, value, ok := strings.Cut(line, "="); ok && !strings.ContainsAny(line[:1], "#;") {
			key = strings.ToLower(strings.TrimSpace(key))
			out = append(out, gitSetting{section, key, gitValue(strings.TrimSpace(value))})
		}
	}
	return out
}

// gitValue removes quotes, escapes and a comment from a value.
func gitValue(text string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(text):
			i++
			out.WriteByte(text[i])
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(out.String())
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
