package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// text is a string that a program shows, and the line at which it begins.
type text struct {
	line  int
	value string
}

// prose matches a text of two or more words, because keys, paths and formats are not checked.
var prose = regexp.MustCompile(`[A-Za-z]{2,}[,.:;'’)]*\s+[("'‘]*[A-Za-z]{2,}`)

// goTexts returns the string literals of a Go file, including struct tags. A concatenation of
// literals is one text.
func goTexts(src []byte) (found []text, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BinaryExpr:
			if s, ok := sum(n); ok {
				found = append(found, text{set.Position(n.Pos()).Line, s})
				return false
			}
		case *ast.BasicLit:
			if s, ok := sum(n); ok {
				found = append(found, text{set.Position(n.Pos()).Line, s})
			}
		}
		return true
	})
	return found, nil
}

// sum returns the text of a string literal or of a concatenation of string literals. It returns
// false for any other expression.
func sum(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, okLeft := sum(e.X)
		right, okRight := sum(e.Y)
		return left + right, okLeft && okRight
	}
	return "", false
}

// jsonTexts returns the strings of a JSON file, including the keys, each with its line.
func jsonTexts(src []byte) (found []text, err error) {
	d := json.NewDecoder(strings.NewReader(string(src)))
	for {
		t, err := d.Token()
		if err != nil {
			return found, nil //nolint:nilerr // the end of the input, because package.json is valid
		}
		if s, ok := t.(string); ok {
			line := 1 + strings.Count(string(src[:d.InputOffset()]), "\n")
			found = append(found, text{line, s})
		}
	}
}

// lineTexts returns a plain text line by line.
func lineTexts(src []byte) (found []text, err error) {
	for i, l := range strings.Split(string(src), "\n") {
		found = append(found, text{i + 1, l})
	}
	return found, nil
}

// language describes how comments and strings of a language begin and end.
type language struct {
	lineComment           string
	blockOpen, blockClose string
	longOpen, longClose   string // strings without escapes, which may span several lines
	quotes                string
	regexps               bool
}

var (
	typescript = language{
		lineComment: "//", blockOpen: "/*", blockClose: "*/", quotes: "'\"`", regexps: true,
	}
	lua = language{
		lineComment: "--", blockOpen: "--[[", blockClose: "]]", quotes: "'\"",
		longOpen: "[[", longClose: "]]",
	}
)

// texts returns the strings of a source file. Adjacent strings that "+" or ".." concatenates are
// one text.
func (l language) texts(src []byte) (found []text, err error) {
	s := &scanner{language: l, src: string(src)}
	for s.pos < len(s.src) {
		s.step()
	}
	return s.found, nil
}

type scanner struct {
	language
	src   string
	pos   int
	end   int // where the last string ends
	found []text
	notes []text // comments
}

// step scans one comment, string or byte.
func (s *scanner) step() {
	rest := s.src[s.pos:]
	switch {
	case s.blockOpen != "" && strings.HasPrefix(rest, s.blockOpen):
		from := s.pos
		s.skipTo(s.blockClose, len(s.blockOpen))
		s.note(from)
	case strings.HasPrefix(rest, s.lineComment):
		from := s.pos
		s.skipTo("\n", len(s.lineComment))
		s.note(from)
	case s.longOpen != "" && strings.HasPrefix(rest, s.longOpen):
		from := s.pos
		s.skipTo(s.longClose, len(s.longOpen))
		s.add(from, strings.TrimSuffix(s.src[from+len(s.longOpen):s.pos], s.longClose))
	case strings.IndexByte(s.quotes, rest[0]) >= 0:
		s.quoted()
	case s.regexps && rest[0] == '/' && s.operandExpected():
		s.skipRegexp()
	default:
		s.pos++
	}
}

func (s *scanner) skipTo(end string, from int) {
	if i := strings.Index(s.src[s.pos+from:], end); i >= 0 {
		s.pos += from + i + len(end)
	} else {
		s.pos = len(s.src)
	}
}

// quoted scans a string with escapes. The substitutions of a template are scanned like any source.
func (s *scanner) quoted() {
	from, quote := s.pos, s.src[s.pos]
	var b strings.Builder
	for s.pos++; s.pos < len(s.src) && s.src[s.pos] != quote; s.pos++ {
		switch {
		case s.src[s.pos] == '\\':
			s.pos++
			if s.pos < len(s.src) && strings.IndexByte(`'"`+"`", s.src[s.pos]) >= 0 {
				b.WriteByte(s.src[s.pos])
			} else {
				b.WriteByte(' ')
			}
		case quote == '`' && strings.HasPrefix(s.src[s.pos:], "${"):
			b.WriteByte('X')
			s.substitution()
		default:
			b.WriteByte(s.src[s.pos])
		}
	}
	s.pos++
	s.add(from, b.String())
}

// substitution skips ${…} in a template, up to its closing brace.
func (s *scanner) substitution() {
	s.pos += 2
	for depth := 1; s.pos < len(s.src); {
		switch s.src[s.pos] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return
			}
		}
		s.step()
	}
}

// operandExpected reports whether a slash at this position begins a regular expression. If not, it
// is a division.
func (s *scanner) operandExpected() bool {
	before := strings.TrimRight(s.src[:s.pos], " \t\n")
	return before == "" || strings.HasSuffix(before, "return") ||
		strings.IndexByte("(,=:[!&|?{};+", before[len(before)-1]) >= 0
}

func (s *scanner) skipRegexp() {
	class := false
	for s.pos++; s.pos < len(s.src) && s.src[s.pos] != '\n'; s.pos++ {
		switch s.src[s.pos] {
		case '\\':
			s.pos++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				s.pos++
				return
			}
		}
	}
}

// add appends a string. If an operator joins it to the previous string, add extends that string.
func (s *scanner) add(from int, value string) {
	if n := len(s.found); n > 0 && s.end <= from {
		if op := strings.TrimSpace(s.src[s.end:from]); op == "+" || op == ".." {
			s.found[n-1].value += value
			s.end = s.pos
			return
		}
	}
	s.found = append(s.found, text{1 + strings.Count(s.src[:from], "\n"), value})
	s.end = s.pos
}
