// Package near finds the intended word for a misspelled one.
package near

import "strings"

// Of returns the word that the misspelled word probably means, or "" if no word is similar. If
// exactly one word begins with the misspelled word, Of returns that word. Otherwise, it returns the
// word that differs least, if at most a third of the misspelled word's letters have to change. It
// ignores case.
func Of(misspelled string, words []string) string {
	low := strings.ToLower(misspelled)
	begins, count := "", 0
	best, least := "", 2*(len(low)/3)+2
	for _, w := range words {
		lower := strings.ToLower(w)
		if low != "" && strings.HasPrefix(lower, low) {
			begins, count = w, count+1
		}
		d := 2 * distance(low, lower)
		if len(low) != len(lower) {
			d++ // at equal distance, prefer a word of the same length
		}
		if d < least {
			best, least = w, d
		}
	}
	if count == 1 {
		return begins
	}
	return best
}

// distance returns the number of letters that must be changed, added, removed or exchanged with a
// neighbor.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// Suggestion returns a question such as ", did you mean --model?" that suggests the word which a
// misspelled word probably means. The prefix precedes the suggested word. Suggestion returns "" if
// no word is similar.
func Suggestion(prefix, misspelled string, words []string) string {
	if word := Of(misspelled, words); word != "" {
		return ", did you mean " + prefix + word + "?"
	}
	return ""
}
