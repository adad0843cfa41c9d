package search

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a pattern.
const (
	maxPattern = 10_000 // bytes
	maxProgram = 5_000  // steps of the compiled pattern: the maximum cost of one byte of text
	// A longer line is matched in pieces that overlap by a quarter of their length. The more
	// expensive the pattern, the shorter the pieces, down to minPiece.
	maxPiece  = 64 << 10
	minPiece  = 8 << 10
	pieceCost = 4 << 20 // steps times bytes
)

// Pattern describes what a line must contain.
type Pattern struct {
	Text       string
	Literal    bool // Text is plain text
	IgnoreCase bool
	Word       bool // the match begins and ends at word boundaries
}

// Matcher finds lines that match a pattern, in time linear in the text. It is immutable. Each
// goroutine needs its own scanner.
type Matcher struct {
	re   *regexp.Regexp
	prog *syntax.Prog
	word bool      // prog contains word boundaries, which re supports only for ASCII
	lits []literal // every match contains one of the literals; empty: unknown
	pure bool      // a hit of a literal is a match
}

// literal is text that the line must contain. If fold is set, case does not matter, and text is
// lower-case ASCII. If ascii is set, the literal applies only to text that is completely ASCII.
type literal struct {
	text  string
	fold  bool
	ascii bool
}

// Compile compiles a pattern. The error describes what is wrong with the expression.
func Compile(p Pattern) (*Matcher, error) {
	if len(p.Text) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes; at most %d are allowed", len(p.Text),
			maxPattern)
	}
	expr := p.Text
	if p.Literal {
		expr = regexp.QuoteMeta(expr)
	} else if _, err := regexp.Compile(expr); err != nil {
		return nil, err // the error contains the expression as it was given
	} else {
		expr = unicodeClasses(expr)
	}
	if p.Word {
		expr = `\b(?:` + expr + `)\b`
	}
	if p.IgnoreCase {
		expr = `(?i)` + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	tree = tree.Simplify()
	m := &Matcher{re: re, lits: required(tree)}
	m.pure = len(m.lits) == 1 && tree.Op == syntax.OpLiteral && !m.lits[0].fold &&
		len(m.lits[0].text) == len(string(tree.Rune)) &&
		// A literal with a carriage return could match in a line break, which is not part of the
		// line.
		!slices.Contains(tree.Rune, '\r')
	if m.prog, err = syntax.Compile(tree); err != nil {
		return nil, err
	}
	m.word = hasBorders(m.prog)
	if len(m.prog.Inst) > maxProgram {
		return nil, fmt.Errorf("the pattern repeats too much (%d steps, at most %d); use smaller counts", len(m.prog.Inst), maxProgram)
	}
	return m, nil
}

// SpansLines reports whether a pattern contains a literal line break, which no line can match.
func SpansLines(p Pattern) bool {
	if p.Literal {
		return strings.Contains(p.Text, "\n")
	}
	tree, err := syntax.Parse(p.Text, syntax.Perl)
	return err == nil && hasNewline(tree)
}

func hasNewline(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && strings.ContainsRune(string(re.Rune), '\n') {
		return true
	}
	for _, sub := range re.Sub {
		if hasNewline(sub) {
			return true
		}
	}
	return false
}

// maxLits limits the number of alternatives that are searched for one by one.
const maxLits = 8

// required returns a list of literals. Every match contains at least one of them. It prefers the
// longest literals, and returns nil if there are none.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		if l, ok := toLiteral(re); ok {
			return []literal{l}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if l := required(sub); shortest(l) > shortest(best) {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		return requiredOfAll(re.Sub)
	}
	return nil
}

func requiredOfAll(subs []*syntax.Regexp) []literal {
	var all []literal
	for _, sub := range subs {
		l := required(sub)
		if len(l) == 0 || len(all)+len(l) > maxLits {
			return nil
		}
		all = append(all, l...)
	}
	return all
}

func shortest(lits []literal) int {
	n := 0
	for i, l := range lits {
		if i == 0 || len(l.text) < n {
			n = len(l.text)
		}
	}
	return n
}

func toLiteral(re *syntax.Regexp) (literal, bool) {
	text := string(re.Rune)
	if re.Flags&syntax.FoldCase == 0 {
		return literal{text: text}, utf8.ValidString(text)
	}
	return foldLiteral(strings.ToLower(text))
}

// minFold is the minimum length of a part that is searched for in place of a complete literal, in
// bytes.
const minFold = 3

// foldLiteral returns the longest part of a lower-case text that can be searched for byte by byte
// without regard to case. Under (?i), the Kelvin sign matches k and the long s matches s. A part
// with k or s is used only if no other part is long enough, and only in plain ASCII.
func foldLiteral(text string) (literal, bool) {
	best, ascii := "", true
	start := 0
	for i := range len(text) + 1 {
		if i < len(text) && text[i] < utf8.RuneSelf && text[i] != 'k' && text[i] != 's' {
			continue
		}
		if i-start > len(best) {
			best = text[start:i]
		}
		start = i + 1
		ascii = ascii && (i == len(text) || text[i] < utf8.RuneSelf)
	}
	switch {
	case len(best) >= minFold || len(best) == len(text) && text != "":
		return literal{text: best, fold: true}, true
	case ascii:
		return literal{text: text, fold: true, ascii: true}, text != ""
	}
	return literal{}, false
}

// scanner finds matching lines for one goroutine.
type scanner struct {
	m     *Matcher
	stop  func() bool // called between lines; nil: never stop
	dfa   *dfa
	all   []finder
	finds []finder // all finders, or none if they are not reliable
	ascii bool     // finds applies only to ASCII
	piece int      // bytes of a line that are matched at a time
	at    []int    // each finder's next hit from the last searched offset on; -1: unknown
}

func (m *Matcher) scanner() *scanner {
	s := &scanner{m: m, dfa: newDFA(m.prog),
		piece: min(max(pieceCost/len(m.prog.Inst), minPiece), maxPiece)}
	for _, l := range m.lits {
		s.all = append(s.all, newFinder(l))
		s.ascii = s.ascii || l.ascii
	}
	s.at = make([]int, len(s.all))
	return s
}

// begin prepares the scanner for a new text.
func (s *scanner) begin(text []byte) {
	for i := range s.at {
		s.at[i] = -1
	}
	s.finds = s.all
	if s.ascii && !isASCII(text) {
		s.finds = nil
	}
}

// next returns the bounds of the first matching line, without its line break. The search begins at
// the offset from, which must be the beginning of a line.
func (s *scanner) next(text []byte, from int) (start, end int, ok bool) {
	for from < len(text) && (s.stop == nil || !s.stop()) {
		if len(s.finds) > 0 {
			hit := s.candidate(text, from)
			if hit < 0 {
				return 0, 0, false
			}
			from += bytes.LastIndexByte(text[from:hit], '\n') + 1
		}
		end, after := lineEnd(text, from)
		if s.m.pure || s.match(text[from:end]) {
			return from, end, true
		}
		from = after
	}
	return 0, 0, false
}

// candidate returns the position of the next literal at or after the offset from, or -1 if there is
// none.
func (s *scanner) candidate(text []byte, from int) int {
	best := -1
	for i := range s.finds {
		if s.at[i] < from {
			if hit := s.finds[i].index(text[from:]); hit >= 0 {
				s.at[i] = from + hit
			} else {
				s.at[i] = len(text)
			}
		}
		if at := s.at[i]; at < len(text) && (best < 0 || at < best) {
			best = at
		}
	}
	return best
}

// match reports whether a line matches. It checks a long line in pieces, so that the search can be
// stopped even if the pattern is expensive.
func (s *scanner) match(line []byte) bool {
	for len(line) > s.piece {
		if s.matchPiece(line[:s.piece]) {
			return true
		}
		if s.stop != nil && s.stop() {
			return false
		}
		line = line[s.piece-s.piece/4:]
	}
	return s.matchPiece(line)
}

func (s *scanner) matchPiece(line []byte) bool {
	switch s.dfa.match(line) {
	case dfaYes:
		return true
	case dfaNo:
		return false
	}
	if s.m.word {
		return s.dfa.simulate(line)
	}
	return s.m.re.Match(line)
}

// lineEnd returns the end of the line that begins at the offset from, and the beginning of the next
// line.
func lineEnd(text []byte, from int) (end, after int) {
	n := bytes.IndexByte(text[from:], '\n')
	if n < 0 {
		return len(text), len(text)
	}
	end, after = from+n, from+n+1
	if end > from && text[end-1] == '\r' {
		end--
	}
	return end, after
}
