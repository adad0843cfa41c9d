// Package globs analyzes the syntax of doublestar patterns: how many patterns the braces of a
// pattern expand to, and where its sets end. Permission rules and searches share the package, so
// that a pattern has the same meaning in both. Its functions are pure.
package globs

import "strings"

// MaxAlternatives is the maximum number of patterns that the braces of one pattern may expand to,
// because matching tries each of them.
const MaxAlternatives = 256

// Alternatives returns the number of patterns to which the braces of a valid pattern expand,
// including nested braces. It counts up to MaxAlternatives+1.
func Alternatives(text string) int {
	n, _ := alternativesFrom(text, 0)
	return n
}

// alternativesFrom counts the alternatives up to the comma or brace that ends this part of a group,
// or up to the end of the pattern.
func alternativesFrom(text string, i int) (n, end int) {
	n = 1
	for ; i < len(text) && text[i] != ',' && text[i] != '}'; i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			i = max(i, SetEnd(text, i))
		case '{':
			var sum int
			if sum, i = groupFrom(text, i+1); i >= len(text) {
				return n * sum, i
			}
			n = min(n*sum, MaxAlternatives+1)
		}
	}
	return n, i
}

// groupFrom counts the alternatives of a group up to its closing }.
func groupFrom(text string, i int) (sum, end int) {
	for {
		var n int
		n, i = alternativesFrom(text, i)
		sum = min(sum+n, MaxAlternatives+1)
		if i >= len(text) || text[i] == '}' {
			return sum, i
		}
		i++
	}
}

// SetEnd returns the offset of the ] that closes the set at s[open], or -1 if none does. A leading
// ] is a member of the set.
func SetEnd(s string, open int) int {
	i := open + 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	for first := i; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == ']' && i > first:
			return i
		}
	}
	return -1
}

// CloseSets escapes a leading ] in a set, because doublestar would interpret it as the end of the
// set.
func CloseSets(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		b.WriteByte(text[i])
		switch text[i] {
		case '\\':
			if i++; i < len(text) {
				b.WriteByte(text[i])
			}
		case '[':
			end := SetEnd(text, i)
			if end < 0 {
				continue
			}
			set := text[i+1 : end+1]
			if set[0] == '!' || set[0] == '^' {
				b.WriteByte(set[0])
				set = set[1:]
			}
			if set[0] == ']' {
				b.WriteByte('\\')
			}
			b.WriteString(set)
			i = end
		}
	}
	return b.String()
}
