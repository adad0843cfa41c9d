package patch

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// maxNameGap is how many blank lines may separate a file's name from its block.
const maxNameGap = 1

// nameAbove returns the file name directly above a SEARCH marker, or above the fence that opens
// around it. If ok is false, there is no file name. In that case, name is the line at that
// position, if any, for the message.
func nameAbove(above []string) (name string, ok bool) {
	i := len(above) - 1
	blanks := func() {
		for n := 0; n < maxNameGap && i >= 0 && strings.TrimSpace(above[i]) == ""; n++ {
			i--
		}
	}
	blanks()
	if i >= 0 && isFence(above[i]) {
		if p, found := nameInFence(above[i]); found {
			return p, true
		}
		i--
		blanks()
	}
	if i < 0 || strings.TrimSpace(above[i]) == "" || isFence(above[i]) {
		return "", false
	}
	if p, found := fileName(above[i]); found {
		return p, true
	}
	return strings.TrimSpace(above[i]), false
}

// nameInFence returns the path in the first line of a fence: "```src/a.go", "```go src/a.go".
func nameInFence(l string) (string, bool) {
	fields := strings.Fields(strings.TrimLeft(strings.TrimSpace(l), "`~"))
	if len(fields) == 0 {
		return "", false
	}
	last := strings.TrimPrefix(fields[len(fields)-1], "path=")
	if len(fields) > 2 || !looksLikePath(last) {
		return "", false
	}
	return last, true
}

// nameLabel matches the labels that models put before a file's name.
var nameLabel = lazyregexp.New(
	`(?i)^(?:#{1,6}\s+|\*\*\s*|[-*]\s+|\d+\.\s+)*(?:(?:file ?name|file|path)\s*:\s*(?:\*\*)?\s*)?`,
)

// fileName returns the path if a line consists of a path with the decoration that models add: a
// heading, bold type, quotes, "File:" before it or a colon after it. A line of prose contains no
// file name. A name with spaces is accepted only in backticks.
func fileName(l string) (string, bool) {
	t := strings.TrimSpace(l)
	t = t[len(nameLabel().FindString(t)):]
	t = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(t), "**"), ":"))
	t = strings.TrimSpace(strings.TrimSuffix(t, "**"))
	if q, ok := quoted(t); ok {
		return q, looksLikePath(strings.ReplaceAll(q, " ", "_"))
	}
	return t, looksLikePath(t)
}

func quoted(t string) (string, bool) {
	if len(t) < 3 || t[0] != t[len(t)-1] || !strings.ContainsAny(t[:1], "`\"'") ||
		strings.Contains(t[1:len(t)-1], t[:1]) {
		return "", false
	}
	return strings.TrimSpace(t[1 : len(t)-1]), true
}

// plainNames are common file names without a folder or an extension.
var plainNames = []string{
	"authors", "brewfile", "build", "caddyfile", "changelog", "codeowners", "containerfile",
	"contributing", "copying",
	"dockerfile", "earthfile", "gemfile", "gnumakefile", "jenkinsfile", "justfile", "license",
	"makefile", "notice",
	"pipfile", "podfile", "procfile", "rakefile", "readme", "tiltfile", "todo", "vagrantfile",
	"version", "workspace",
}

// looksLikePath reports whether a word is a file's path and not prose. A path has a folder, an
// extension or a common name, at least one letter or digit in its last element, and no character
// that occurs only in prose or markup.
func looksLikePath(s string) bool {
	if s == "" || strings.ContainsAny(s, "<>|\"?*`{}") ||
		strings.ContainsFunc(s, func(r rune) bool {
			return unicode.IsSpace(r) ||
				unicode.IsControl(r)
		}) {
		return false
	}
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, ",") || strings.Contains(s, "://") ||
		strings.HasSuffix(s, "/") {
		return false
	}
	base := path.Base(strings.ReplaceAll(s, `\`, "/"))
	if !strings.ContainsFunc(base,
		func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return false
	}
	return base != s || strings.ContainsRune(s, '.') ||
		slices.Contains(plainNames, strings.ToLower(s))
}

// namesOther reports whether the text between two blocks names a file other than the file of the
// first block. If so, the second block may be meant for that file.
func namesOther(between []string, file string) bool {
	for _, l := range between {
		for _, w := range strings.Fields(l) {
			w = strings.TrimRight(strings.Trim(w, "`*'\"(),:;"), ".")
			if w != file && looksLikePath(w) {
				return true
			}
		}
	}
	return false
}
