package tools

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLine is the length of the longest line that a result shows, in bytes.
const maxLine = 2000

// cutRune returns at most n bytes of s, cut between characters.
func cutRune(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// output is a result that grows line by line up to a limit.
type output struct {
	strings.Builder
	limit int
	full  bool
}

// line adds a line if it fits. After a line that did not fit, it adds no more lines.
func (o *output) line(s string) bool {
	if o.full || o.Len()+len(s)+1 > o.limit {
		o.full = true
		return false
	}
	o.WriteString(s)
	o.WriteByte('\n')
	return true
}

// oneLine converts s to one line for a label, and cuts it after at most n bytes.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > n {
		return cutRune(s, n) + "…"
	}
	return s
}

// quoted is oneLine in quotes, for text that is not a path.
func quoted(s string, n int) string { return `"` + oneLine(s, n) + `"` }

// validText returns s with invalid UTF-8 replaced.
func validText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// plural returns a count with its noun, such as "1 file" or "2 files".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	switch {
	case strings.HasSuffix(noun, "ch"):
		noun += "e"
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return number(n) + " " + noun + "s"
}

// number formats a number with commas.
func number(n int) string {
	if n < 0 {
		return "-" + number(-n)
	}
	if n < 1000 {
		return strconv.Itoa(n)
	}
	rest := strconv.Itoa(n % 1000)
	return number(n/1000) + "," + strings.Repeat("0", 3-len(rest)) + rest
}
