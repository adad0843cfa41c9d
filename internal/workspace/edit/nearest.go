package edit

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	// votesPerLine limits how often one line of the search text may vote. Lines such as "}" occur
	// everywhere and carry no information.
	votesPerLine = 50
	// comparedBytes limits how many bytes of a line are compared for a diagnosis.
	comparedBytes = 2000
)

// nearestRegion shows the part of the file that is most similar to the search text (tier T7), and
// the first line in which the two differ, with visible white space.
func (m *matcher) nearestRegion(err *MatchError, old []string) string {
	at, equal := m.vote(old)
	if at < 0 {
		at = m.similar(old)
	}
	if at < 0 {
		return "Nothing in the file is similar; read it again, or look for the right file.\n"
	}
	lines := m.lines()
	end := min(len(lines), at+len(old))
	err.Line, err.EndLine = at+1, end
	err.Region = numbered(m.text, lines, at, end)
	var b strings.Builder
	fmt.Fprintf(&b, "The nearest region is lines %d-%d (%d of %d lines equal). ", at+1, end, equal,
		len(old))
	b.WriteString(m.firstDifference(old, at))
	fmt.Fprintf(&b, "Send these lines as the file has them:\n%s", err.Region)
	return b.String()
}

// firstDifference shows the first unequal pair of lines.
func (m *matcher) firstDifference(old []string, at int) string {
	lines := m.lines()
	for i, want := range old {
		if at+i >= len(lines) {
			return fmt.Sprintf("The file ends before line %d of the search text.\n", i+1)
		}
		got := string(m.text[lines[at+i].start:lines[at+i].end])
		if got != want {
			a, b := aroundDifference(got, want)
			return fmt.Sprintf("First difference, line %d (· space, → tab):\n  file:   %s\n  search: %s\n", at+i+1, visible(a), visible(b))
		}
	}
	return "The lines there are equal, but not as consecutive whole lines.\n"
}

// aroundDifference shortens two long lines to the part in which they differ.
func aroundDifference(a, b string) (string, string) {
	if len(a) <= maxShownBytes && len(b) <= maxShownBytes {
		return a, b
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	cut := func(s string) string {
		from, to := max(0, n-60), min(len(s), n+60)
		out := strings.ToValidUTF8(s[from:to], "")
		if from > 0 {
			out = "…" + out
		}
		if to < len(s) {
			out += "…"
		}
		return out
	}
	return cut(a), cut(b)
}

// visible makes white space and look-alikes visible.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == ' ':
			b.WriteRune('·')
		case r == '\t':
			b.WriteRune('→')
		case r < ' ' || r == 0x7f || r == 0xfeff || r == 0x200b || foldRune(r) != 0 ||
			unicode.Is(unicode.Cf, r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// vote finds the start line for which the most lines are equal, ignoring white space.
func (m *matcher) vote(old []string) (at, equal int) {
	file, ids := m.lineIDs(T7, old)
	where := make(map[int32][]int)
	for j, id := range file {
		if id >= 0 && len(where[id]) <= votesPerLine {
			where[id] = append(where[id], j)
		}
	}
	votes := map[int]int{}
	at = -1
	for i, id := range ids {
		if len(where[id]) > votesPerLine || strings.TrimSpace(old[i]) == "" {
			continue
		}
		for _, j := range where[id] {
			start := max(0, j-i)
			votes[start]++
			if n := votes[start]; n > votes[at] || n == votes[at] && start < at || at < 0 {
				at = start
			}
		}
	}
	return at, votes[at]
}

func collapse(s string) string {
	if len(s) > comparedBytes {
		s = s[:comparedBytes]
	}
	return strings.Join(strings.Fields(s), " ")
}

// similar finds the window whose lines have the most words in common with the search text.
func (m *matcher) similar(old []string) int {
	want := map[string]bool{}
	for _, l := range old {
		words(l, func(w string) { want[w] = true })
	}
	exact := m.table(T0)
	shared := make([]int, len(exact.distinct))
	for i, l := range exact.distinct {
		words(l, func(w string) {
			if want[w] {
				shared[i]++
			}
		})
	}
	score := make([]int, len(exact.ids)+1)
	best, bestScore := -1, 0
	for j, id := range exact.ids {
		score[j+1] = score[j] + min(shared[id], 2*len(want))
		from := max(0, j+1-len(old))
		if s := score[j+1] - score[from]; s > bestScore {
			best, bestScore = from, s
		}
	}
	if best >= 0 && 2*bestScore < len(want) {
		return -1
	}
	return best
}

// words calls f for each identifier of at least three bytes.
func words(s string, f func(string)) {
	if len(s) > comparedBytes {
		s = s[:comparedBytes]
	}
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !isWord(r) }) {
		if len(w) >= 3 {
			f(w)
		}
	}
}
