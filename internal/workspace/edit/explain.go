package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// Kind classifies a MatchError. Its text is stable.
type Kind string

// The kinds of refusal.
const (
	KindNotFound  Kind = "notFound"  // the search text, context or scope does not occur
	KindAmbiguous Kind = "ambiguous" // the search text occurs more than once
	KindCount     Kind = "count"     // the search text does not occur the expected number of times
	KindOverlap   Kind = "overlap"   // two edits touch the same text
	KindEmpty     Kind = "empty"     // nothing to search for
	KindParse     Kind = "parse"     // a loose match would break the file's syntax
	KindElided    Kind = "elided"    // the new text omits lines that would be deleted
	KindPatch     Kind = "patch"     // the patch itself is malformed
	KindTooLarge  Kind = "tooLarge"  // the text is larger than MaxSize
)

// MatchError explains why nothing was changed. Its text is written for the model. It says what was
// wrong, where, and what to send instead.
type MatchError struct {
	Kind    Kind
	Edit    int // 0-based index of the edit or hunk; -1 if the error is about the whole call
	Msg     string
	Places  []int // 1-based lines of the matches, for an ambiguity
	Line    int   // 1-based first line of the nearest region, 0 if there is none
	EndLine int   // last line of the nearest region
	Region  string
}

func (e *MatchError) Error() string { return e.Msg }

func (m *matcher) name(i int) string { return fmt.Sprintf("%s %d: ", m.noun, i+1) }

// shownPlaces limits the number of matches shown for an ambiguity.
const shownPlaces = 5

func (m *matcher) ambiguous(kind Kind, i int, c candidate, what string) error {
	e := &MatchError{Kind: kind, Edit: i}
	for _, pl := range c.places {
		e.Places = append(e.Places, m.lineOf(pl.start))
		if len(e.Places) == maxPlaces {
			break
		}
	}
	if what == "" {
		what = fmt.Sprintf("the search text matches %s places (tier %s, %s)",
			atLeast(len(c.places)), c.tier, c.tier.Describe())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s, at lines %s. Nothing was changed. %s\n",
		m.name(i), what, joinLines(e.Places), m.advice())
	m.showPlaces(&b, e.Places)
	e.Msg = b.String()
	return e
}

func (m *matcher) advice() string {
	if m.noun == "hunk" {
		return "Add context lines around the right place, or name a line above it after @@."
	}
	return "Add lines around the right match to the search text, or select matches with the replace-all flag, an expected count or a near line."
}

func atLeast(n int) string {
	if n >= maxPlaces {
		return fmt.Sprintf("at least %d", n)
	}
	return fmt.Sprint(n)
}

func joinLines(lines []int) string {
	var parts []string
	for i, n := range lines {
		if i == 2*shownPlaces {
			return strings.Join(parts, ", ") + ", ..."
		}
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, ", ")
}

// showPlaces prints the first line of up to shownPlaces matches, with one line before and after it.
func (m *matcher) showPlaces(b *strings.Builder, places []int) {
	for k, n := range places {
		if k == shownPlaces {
			return
		}
		fmt.Fprintf(b, "place %d:\n%s", k+1, numbered(m.text, m.lines(), n-2, n+1))
	}
}

func (m *matcher) region(pl place) string {
	from := m.lineOf(pl.start) - 1
	return numbered(m.text, m.lines(), from, from+1+
		strings.Count(string(m.text[pl.start:pl.end]), "\n"))
}

// notFound diagnoses a search text that no tier found. It reports how the text differs from the
// nearest region, and which other version of the file contains it.
func (m *matcher) notFound(i int, e Replace) error {
	err := &MatchError{Kind: KindNotFound, Edit: i}
	var b strings.Builder
	fmt.Fprintf(&b, "%sthe search text was not found%s. Nothing was changed.\n", m.name(i),
		inFile(m.opt.Path))
	b.WriteString(m.elsewhere(e.Old))
	trimmed := strings.Trim(e.Old, "\n")
	b.WriteString(m.diagnose(err, contents(trimmed), m.whole || trimmed != e.Old))
	err.Msg = b.String()
	return err
}

func inFile(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// elsewhere names the other version of the file that contains the text.
func (m *matcher) elsewhere(old string) string {
	for _, o := range m.opt.Elsewhere {
		v := newView(o.Data)
		if at := bytes.Index(v.text, []byte(old)); at >= 0 {
			return fmt.Sprintf(
				"It is at line %d of %s; read the file again to see its current state.\n",
				v.lineOf(at),
				o.Name,
			)
		}
	}
	return ""
}

// diagnose tries the explaining tiers T5 to T7 and sets the nearest region. whole means that the
// text was searched for as complete lines.
func (m *matcher) diagnose(err *MatchError, old []string, whole bool) string {
	text := strings.Join(old, "\n")
	if un := unescape(text); un != text {
		if at := m.exact(un, false, 1); len(at) > 0 {
			return m.pointOut(
				err,
				at[0],
				fmt.Sprintf(
					"It is over-escaped (tier %s): with one level of backslashes removed it is found here. Send it unescaped:\n",
					T5,
				),
			)
		}
	}
	if pl, ok := m.elided(old); ok {
		return m.pointOut(
			err,
			pl,
			fmt.Sprintf(
				"It omits lines with \"...\" (tier %s). Every line must be sent; the full text is:\n",
				T6,
			),
		)
	}
	if at := bytes.Index(m.text, []byte(text)); at >= 0 {
		return m.pointOut(err, place{start: at, end: at + len(text)}, m.partOfLine())
	}
	if pl, ok := m.otherCase(text, whole); ok {
		return m.pointOut(
			err,
			pl,
			"It differs only in upper and lower case. Send the file's text:\n",
		)
	}
	return m.nearestRegion(err, old)
}

// partOfLine explains why a search text was not found although the file contains it.
func (m *matcher) partOfLine() string {
	what := "The file contains it only as part of a line"
	switch {
	case m.noun == "hunk":
		return what + ". A hunk must contain whole lines. Send the whole lines:\n"
	case m.whole:
		return what + ". A block matches only whole lines. Send the whole lines:\n"
	}
	return what + ", but the search text begins or ends with a line break. Send the whole line, or remove the line break:\n"
}

// otherCase finds the text in a different case, at a position where only the case prevents a match.
func (m *matcher) otherCase(text string, whole bool) (place, bool) {
	lower, old := bytes.ToLower(m.text), bytes.ToLower([]byte(text))
	if len(lower) != len(m.text) || len(old) == 0 {
		return place{}, false // offsets in lower would not apply to the text
	}
	for from := 0; ; {
		i := bytes.Index(lower[from:], old)
		if i < 0 {
			return place{}, false
		}
		if at := from + i; !whole || m.wholeLines(at, at+len(old)) {
			return place{start: at, end: at + len(old)}, true
		}
		from += i + 1
	}
}

func (m *matcher) pointOut(err *MatchError, pl place, what string) string {
	err.Line = m.lineOf(pl.start)
	err.EndLine = err.Line + bytes.Count(m.text[pl.start:pl.end], []byte("\n"))
	err.Region = m.region(pl)
	return what + err.Region
}

var unescaper = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\n", `\"`, `"`, `\'`,
	`'`)

func unescape(s string) string { return unescaper.Replace(s) }

// elided finds a search text in which lines of "..." represent other lines. Every piece must be
// unique and in order.
func (m *matcher) elided(old []string) (place, bool) {
	var parts []string
	var cur []string
	dots := false
	for _, l := range append(old[:len(old):len(old)], "...") {
		if !isEllipsis(l) {
			cur = append(cur, l)
			continue
		}
		if len(cur) > 0 {
			parts = append(parts, strings.Join(cur, "\n"))
			dots = true
		}
		cur = nil
	}
	if !dots || len(parts) < 2 {
		return place{}, false
	}
	var out place
	for k, p := range parts {
		at := m.exact(p, false, 2)
		if len(at) != 1 || k > 0 && at[0].start < out.end {
			return place{}, false
		}
		if k == 0 {
			out = at[0]
		}
		out.end = at[0].end
	}
	return out, true
}

func isEllipsis(l string) bool {
	t := strings.TrimSpace(l)
	t = strings.TrimSpace(
		strings.TrimSuffix(
			strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(t, "/*"), "//"), "#"),
			"*/",
		),
	)
	return strings.HasPrefix(t, "...") && len(t) < 60 || strings.HasPrefix(t, "…")
}
