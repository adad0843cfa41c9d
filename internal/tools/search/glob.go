package search

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/agent-lsp/agent-lsp/internal/globs"
)

// maxGlobLen limits the length of a glob, in bytes.
const maxGlobLen = 1000

// ErrGlobTooLong is returned for a glob that exceeds the limits.
var ErrGlobTooLong = errors.New("the glob has too many alternatives or is too long; use a simpler one")

// Glob is a list of patterns, separated by commas or spaces, for slash-separated relative paths. A
// pattern has the syntax of doublestar, like the paths in permission rules: *, ?, [set], {a,b} and
// ** for any number of folders. A pattern without a slash matches the last element at any depth. A
// leading slash means the root. A final slash means everything below a folder. A pattern that
// begins with ! excludes its matches and everything below them, at any position in the list. A list
// that contains only exclusions includes everything else. Matching takes polynomial time. A Glob is
// immutable.
type Glob struct {
	include, exclude []pattern
	dots             bool
}

// pattern is one pattern in doublestar's syntax.
type pattern struct {
	text   string
	name   bool // the pattern matches the last element
	suffix bool // text follows a leading * and has no other wildcard
	below  bool // the pattern covers the content of the folder but not the folder itself
}

// CompileGlob compiles a list of patterns.
func CompileGlob(glob string) (*Glob, error) {
	if len(glob) > maxGlobLen {
		return nil, ErrGlobTooLong
	}
	g := &Glob{}
	for _, text := range SplitGlobs(glob) {
		text, negated := strings.CutPrefix(text, "!")
		p, err := compilePattern(text, negated)
		if err != nil {
			return nil, fmt.Errorf("reading glob %.80q: %w", text, err)
		}
		if negated {
			g.exclude = append(g.exclude, p)
			continue
		}
		g.include = append(g.include, p)
		g.dots = g.dots || namesDot(text)
	}
	if len(g.include)+len(g.exclude) == 0 {
		return nil, errors.New("the glob is empty")
	}
	return g, nil
}

func compilePattern(text string, negated bool) (p pattern, err error) {
	text, anchored := strings.CutPrefix(strings.TrimPrefix(text, "./"), "/")
	text, folder := strings.CutSuffix(text, "/")
	p.text = globs.CloseSets(text)
	p.name = !anchored && !strings.Contains(text, "/") && (negated || !folder)
	switch {
	case text == "":
		return p, errors.New("it names no file; ** matches all files")
	case !doublestar.ValidatePattern(p.text):
		return p, errors.New(`it has an unclosed [ or {, or a \ at the end; put a \ before a ` +
			`character to match it literally`)
	case globs.Alternatives(p.text) > globs.MaxAlternatives:
		return p, ErrGlobTooLong
	case folder && negated:
		p.below = true
	case folder:
		p.text += "/**/*"
	}
	if rest, ok := strings.CutPrefix(p.text, "*"); ok && p.name &&
		!strings.ContainsAny(rest, `*?[{\`) {
		p.text, p.suffix = rest, true
	}
	return p, nil
}

// Match reports whether the glob matches path, which is relative and slash-separated.
func (g *Glob) Match(path string) bool {
	for i := range g.exclude {
		if g.exclude[i].covers(path) {
			return false
		}
	}
	for i := range g.include {
		if g.include[i].match(path) {
			return true
		}
	}
	return len(g.include) == 0
}

// Dots reports whether a pattern that is not an exclusion names something that begins with a dot.
func (g *Glob) Dots() bool { return g.dots }

func (p *pattern) match(path string) bool {
	if p.name {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	if p.suffix {
		return strings.HasSuffix(path, p.text)
	}
	return doublestar.MatchUnvalidated(p.text, path)
}

// covers reports whether the pattern matches the path or a folder above it.
func (p *pattern) covers(path string) bool {
	for i := 0; i < len(path); i++ {
		if path[i] == '/' && p.match(path[:i]) {
			return true
		}
	}
	return !p.below && p.match(path)
}

// namesDot reports whether an element of a pattern begins with a dot.
func namesDot(text string) bool {
	text = strings.TrimPrefix(text, "./")
	for i := 0; i < len(text); i++ {
		if text[i] == '.' && (i == 0 || strings.IndexByte("/{,", text[i-1]) >= 0) {
			return true
		}
	}
	return false
}

// SplitGlobs splits a list of patterns at commas outside of braces and sets. It splits at spaces
// that cannot belong to a name: before a !, or between parts that all contain a wildcard. A \
// protects the character after it.
func SplitGlobs(list string) []string {
	var out []string
	for _, part := range splitOutside(list, ',') {
		words := splitOutside(part, ' ')
		if spacesSeparate(words) {
			out = append(out, words...)
		} else {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return out
}

func spacesSeparate(words []string) bool {
	wild := 0
	for i, w := range words {
		if i > 0 && w[0] == '!' {
			return true
		}
		if strings.ContainsAny(w, `*?[{!`) {
			wild++
		}
	}
	return wild == len(words)
}

// splitOutside splits at a character outside of braces and sets and drops empty parts.
func splitOutside(s string, at byte) (parts []string) {
	start, depth := 0, 0
	add := func(end int) {
		if part := strings.TrimSpace(s[start:end]); part != "" {
			parts = append(parts, part)
		}
		start = end + 1
	}
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == at && depth == 0:
			add(i)
		case s[i] == '\\':
			i++
		case s[i] == '{':
			depth++
		case s[i] == '}':
			depth = max(depth-1, 0)
		case s[i] == '[':
			i = max(i, globs.SetEnd(s, i))
		}
	}
	add(len(s))
	return parts
}
