package search

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a glob.
const (
	maxGlobLen  = 1000 // bytes of the pattern
	maxGlobAlts = 256  // alternatives after braces are expanded
)

// ErrGlobTooLong is returned for a glob that expands beyond the limits.
var ErrGlobTooLong = errors.New("the glob has too many alternatives or is too long: use a simpler one")

// Glob matches slash-separated relative paths: *, ?, [set], {a,b} and ** for any folders.
// A pattern without a slash matches the last element at any depth; a leading slash stands for the root. Matching takes
// polynomial time. A Glob is immutable.
type Glob struct {
	alts [][]string // segments of each alternative
	dots bool
}

// CompileGlob compiles a pattern.
func CompileGlob(pattern string) (*Glob, error) {
	if len(pattern) > maxGlobLen {
		return nil, ErrGlobTooLong
	}
	alts, err := expandBraces(strings.TrimPrefix(pattern, "./"))
	if err != nil {
		return nil, fmt.Errorf("reading glob %q: %w", pattern, err)
	}
	g := &Glob{}
	for _, a := range alts {
		a, anchored := strings.CutPrefix(a, "/")
		if strings.HasSuffix(a, "/") {
			a += "**"
		}
		segs := strings.Split(a, "/")
		if len(segs) == 1 && !anchored {
			segs = []string{"**", a}
		}
		for _, s := range segs {
			g.dots = g.dots || strings.HasPrefix(s, ".")
		}
		g.alts = append(g.alts, segs)
	}
	return g, nil
}

// Match says whether path (relative, slash-separated) matches.
func (g *Glob) Match(path string) bool {
	for _, segs := range g.alts {
		if matchSegments(segs, path) {
			return true
		}
	}
	return false
}

// Dots says whether the pattern asks for names that begin with a dot.
func (g *Glob) Dots() bool { return g.dots }

// matchSegments matches a path against segments. Where a ** fails to go on, only the
// last ** need take one more element: what was matched before it stays good.
func matchSegments(segs []string, path string) bool {
	i, rest, more := 0, path, true
	star, starRest := -1, ""
	for {
		switch {
		case i < len(segs) && segs[i] == "**":
			star, starRest = i, rest
			if i++; i == len(segs) {
				return more // a trailing ** wants at least one element
			}
			continue
		case i == len(segs) && !more:
			return true
		case i < len(segs) && more:
			name, tail, found := strings.Cut(rest, "/")
			if matchName(segs[i], name) {
				i, rest, more = i+1, tail, found
				continue
			}
		}
		if star < 0 || starRest == "" {
			return false
		}
		_, tail, found := strings.Cut(starRest, "/")
		if !found {
			return false
		}
		i, starRest, rest, more = star+1, tail, tail, true
	}
}

// matchName matches one path element; a failed * takes one more byte, the last one only.
func matchName(pattern, name string) bool {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern == name
	}
	p, n := 0, 0
	star, starN := -1, 0
	for {
		if p < len(pattern) && pattern[p] == '*' {
			star, starN = p, n
			p++
			continue
		}
		if p == len(pattern) && n == len(name) {
			return true
		}
		if p < len(pattern) && n < len(name) {
			if pw, nw := matchOne(pattern[p:], name[n:]); pw > 0 {
				p, n = p+pw, n+nw
				continue
			}
		}
		if star < 0 || starN >= len(name) {
			return false
		}
		starN++
		p, n = star+1, starN
	}
}

// matchOne matches one character; it returns the widths taken, zero where it differs.
func matchOne(pattern, name string) (int, int) {
	switch c := pattern[0]; {
	case c == '?':
		_, w := utf8.DecodeRuneInString(name)
		return 1, w
	case c == '[':
		return matchSet(pattern, name)
	case c == '\\' && len(pattern) > 1:
		if pattern[1] == name[0] {
			return 2, 1
		}
	case c == name[0]:
		return 1, 1
	}
	return 0, 0
}

func matchSet(pattern, name string) (int, int) {
	r, w := utf8.DecodeRuneInString(name)
	i := 1
	negate := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negate {
		i++
	}
	hit := false
	for first := true; ; first = false {
		if i >= len(pattern) { // no closing bracket: a plain one
			if name[0] == '[' {
				return 1, 1
			}
			return 0, 0
		}
		if pattern[i] == ']' && !first {
			break
		}
		lo, hi, next := setRange(pattern, i)
		hit = hit || lo <= r && r <= hi
		i = next
	}
	if hit == negate {
		return 0, 0
	}
	return i + 1, w
}

func setRange(pattern string, i int) (lo, hi rune, next int) {
	lo, i = setRune(pattern, i)
	if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
		hi, i = setRune(pattern, i+1)
		return lo, hi, i
	}
	return lo, lo, i
}

func setRune(pattern string, i int) (rune, int) {
	if pattern[i] == '\\' && i+1 < len(pattern) {
		i++
	}
	r, w := utf8.DecodeRuneInString(pattern[i:])
	return r, i + w
}

// expandBraces expands the first group and then what follows from it, up to maxGlobAlts.
func expandBraces(pattern string) ([]string, error) {
	open, end, commas := braceGroup(pattern)
	if open < 0 {
		return []string{pattern}, nil
	}
	var out []string
	from := open + 1
	for _, at := range append(commas, end) {
		more, err := expandBraces(pattern[:open] + pattern[from:at] + pattern[end+1:])
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > maxGlobAlts {
			return nil, ErrGlobTooLong
		}
		from = at + 1
	}
	return out, nil
}

// braceGroup finds the first balanced group with a comma; open is -1 where there is none.
func braceGroup(pattern string) (open, end int, commas []int) {
	for open = 0; open < len(pattern); open++ {
		if pattern[open] == '\\' {
			open++
			continue
		}
		if pattern[open] != '{' {
			continue
		}
		depth := 0
		commas = commas[:0]
		for end = open; end < len(pattern); end++ {
			switch pattern[end] {
			case '\\':
				end++
			case '{':
				depth++
			case ',':
				if depth == 1 {
					commas = append(commas, end)
				}
			case '}':
				depth--
			}
			if depth == 0 {
				break
			}
		}
		if end < len(pattern) && len(commas) > 0 {
			return open, end, commas
		}
	}
	return -1, 0, nil
}
