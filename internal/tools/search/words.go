package search

import (
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// RE2 knows only ASCII words, digits and spaces. A search for \bпривет\b would find nothing and
// report no error. The classes therefore have their Unicode meaning, and a simulation of the
// program finds word boundaries.

// otherWord contains the word characters outside the general categories of perlClasses: circled
// letters and the joiners.
const otherWord = `\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}` +
	`\x{1F170}-\x{1F189}\x{200C}\x{200D}`

// perlClasses contains the Unicode replacements of \w, \d and \s, without the brackets.
var perlClasses = map[byte]string{
	'w': `\pL\pM\p{Nd}\p{Nl}\p{Pc}` + otherWord,
	'd': `\p{Nd}`,
	's': `\t\n\v\f\r\x{85}\pZ`,
}

// unicodeClasses replaces \w, \d and \s with their Unicode equivalents, and, outside of sets, also
// replaces their opposites. Inside a set, \W, \D and \S keep RE2's meaning, because a set cannot
// contain the opposite of another set.
func unicodeClasses(expr string) string {
	if !strings.Contains(expr, `\`) {
		return expr
	}
	var b strings.Builder
	inSet := false
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		switch {
		case c == '\\' && i+1 < len(expr):
			i++
			if expr[i] == 'Q' {
				n := quotedLen(expr[i:])
				b.WriteString(expr[i-1 : i+n])
				i += n - 1
				continue
			}
			b.WriteString(perlClass(expr[i], inSet))
			continue
		case c == '[' && !inSet:
			inSet = true
			n := setStart(expr[i:])
			b.WriteString(expr[i : i+n])
			i += n - 1
			continue
		case c == '[' && strings.HasPrefix(expr[i:], "[:"):
			if end := strings.Index(expr[i:], ":]"); end > 0 {
				b.WriteString(expr[i : i+end+2])
				i += end + 1
				continue
			}
		case c == ']':
			inSet = false
		}
		b.WriteByte(c)
	}
	return b.String()
}

// quotedLen returns the length of a Q and the text that it quotes, including the \E that ends the
// text.
func quotedLen(s string) int {
	if end := strings.Index(s, `\E`); end >= 0 {
		return end + 2
	}
	return len(s)
}

// setStart returns the length of a set's beginning: the bracket, a ^, and a ] that is a member.
func setStart(s string) int {
	n := 1
	if strings.HasPrefix(s[n:], "^") {
		n++
	}
	if strings.HasPrefix(s[n:], "]") {
		n++
	}
	return n
}

func perlClass(c byte, inSet bool) string {
	class, opposite := perlClasses[c], ""
	if class == "" && !inSet {
		opposite = perlClasses[c|0x20]
	}
	switch {
	case class != "" && inSet:
		return class
	case class != "":
		return "[" + class + "]"
	case opposite != "" && 'A' <= c && c <= 'Z':
		return "[^" + opposite + "]"
	}
	return `\` + string(rune(c))
}

var wordTables = []*unicode.RangeTable{
	unicode.L,
	unicode.M,
	unicode.Nd,
	unicode.Nl,
	unicode.Pc,
	unicode.Other_Alphabetic,
	unicode.Join_Control,
}

// isWord reports whether a character belongs to a word. For -1, the line's end, it returns false.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return syntax.IsWordChar(r)
	}
	return unicode.In(r, wordTables...)
}

// hasBorders reports whether a program contains word boundaries.
func hasBorders(prog *syntax.Prog) bool {
	for i := range prog.Inst {
		in := &prog.Inst[i]
		if in.Op == syntax.InstEmptyWidth &&
			syntax.EmptyOp(in.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
			return true
		}
	}
	return false
}

// simulate runs the program over a line with all its states in parallel, using Unicode word
// boundaries.
func (d *dfa) simulate(line []byte) bool {
	at := dfaState{}
	for {
		r, width := rune(endOfText), 0
		if len(line) > 0 {
			r, width = utf8.DecodeRune(line)
		}
		set := at.set
		if !d.anchor || !at.any {
			set = append(set, uint32(d.prog.Start))
		}
		word := isWord(r)
		next, matched := d.closure(set, borders(&at, r == endOfText, word), r)
		if matched {
			return true
		}
		if r == endOfText || d.anchor && len(next) == 0 {
			return false
		}
		at = dfaState{set: next, word: word, any: true}
		line = line[width:]
	}
}
