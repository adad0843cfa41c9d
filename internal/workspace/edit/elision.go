package edit

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// maxElision is the maximum length, in bytes, of a line that represents omitted lines. Real code
// that contains such words is longer.
const maxElision = 120

var (
	openMark    = lazyregexp.New(`^(?://+|#+|/\*+|\{/\*+|<!--|--+|;+|%+|\*+|\()\s*`)
	closeMark   = lazyregexp.New(`\s*(?:\*+/\}?|-->|\))$`)
	dotsFirst   = lazyregexp.New(`^(?:\.{3}|…)\s`) // "...rest" is a spread
	elisionDots = lazyregexp.New(`^(?:\.{3}|…)|(?:\.{3}|…)$`)
	elisionWord = lazyregexp.New(`(?i)\b(?:existing|rest|remaining|remainder|unchanged|omitted|elided|as before|(?:same|code) (?:as )?(?:before|above|below)|previous (?:code|content)|other (?:code|methods?|functions?|fields?|imports?|cases?|tests?|lines?|content)|more (?:code|methods?|functions?|tests?|lines?))\b`)
	plainWords  = lazyregexp.New(`^[\pL\pN\s.,…'’:_-]*$`)
)

// dotsAreNoCode lists the extensions of languages in which a line of three dots is not valid code.
var dotsAreNoCode = map[string]bool{".go": true, ".java": true, ".js": true, ".jsx": true,
	".ts": true, ".tsx": true, ".rs": true, ".cs": true, ".kt": true, ".swift": true, ".css": true,
	".scss": true, ".json": true}

// prose lists the extensions of texts in which a line may begin with dots.
var prose = map[string]bool{".md": true, ".markdown": true, ".txt": true, ".rst": true,
	".adoc": true, ".tex": true}

// isElision reports whether a line represents lines that the model omitted: "// ... existing code
// ...", "(rest of methods ...)", or only dots if dots cannot be code.
func isElision(line, file string) bool {
	t, ext := strings.TrimSpace(line), strings.ToLower(path.Ext(file))
	if t == "" || len(t) > maxElision {
		return false
	}
	bare := uncommented(t)
	marked := bare != t
	switch {
	case bare == "..." || bare == "…":
		return t[0] != '(' && (dotsAreNoCode[ext] || marked && !prose[ext])
	case !marked && (prose[ext] || !dotsFirst().MatchString(t)):
		return false
	}
	return elisionDots().MatchString(bare) && elisionWord().MatchString(bare) &&
		plainWords().MatchString(bare)
}

// uncommented returns a line without comment marks or parentheses around it.
func uncommented(t string) string {
	for range 3 {
		t = strings.TrimSpace(closeMark().ReplaceAllString(openMark().ReplaceAllString(t, ""), ""))
	}
	return t
}

// refuseElision fails if the new lines contain a placeholder that the file does not contain. If the
// placeholder were written to the file, the edit would delete the lines that it represents.
func (m *matcher) refuseElision(i int, lines []string) error {
	for n, l := range lines {
		if !isElision(l, m.opt.Path) || m.hasLine(strings.TrimSpace(l)) {
			continue
		}
		prefix := ""
		if i >= 0 {
			prefix = m.name(i)
		}
		return &MatchError{Kind: KindElided, Edit: i,
			Msg: fmt.Sprintf("%sline %d of the new text, %q, represents omitted lines; written as is, it would delete them. Nothing was changed. Send every line, or one small edit for each change.",
				prefix, n+1, clipped(strings.TrimSpace(l)))}
	}
	return nil
}

// hasLine reports whether the file contains the line with any indent.
func (m *matcher) hasLine(trimmed string) bool {
	for _, l := range m.lines() {
		if string(bytes.TrimSpace(m.text[l.start:l.end])) == trimmed {
			return true
		}
	}
	return false
}
