package edit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// unwrapped implements tier T1, which removes the wrapping that models put around copied text. Its
// candidate contains the stripped texts even if nothing matched, so that the looser tiers can
// continue with them.
func (m *matcher) unwrapped(e Replace, all bool, limit int) candidate {
	c := candidate{tier: T1, old: e.Old, new: e.New}
	fenced, fencedNew := stripFence(c.old, c.new)
	if c.old, c.new = fenced, fencedNew; fenced != e.Old && strings.TrimSpace(fenced) != "" {
		if c.places = m.exactOrLast(fenced, all, limit); len(c.places) > 0 {
			return c
		}
	}
	for _, space := range spaceReadings(fenced) {
		c.old, c.new = stripNumbers(fenced, fencedNew, space)
		c.partly = c.old != fenced && c.new == fencedNew &&
			slices.ContainsFunc(contents(c.new), lineNumber().MatchString)
		if strings.TrimSpace(c.old) == "" {
			return candidate{old: e.Old, new: e.New}
		}
		if c.old != e.Old && len(c.places) == 0 {
			if c.places = m.exactOrLast(c.old, all, limit); len(c.places) > 0 {
				return c
			}
		}
	}
	if len(m.normalized(T2, c.old, 1)) > 0 {
		return c // the blank lines at its ends consist of white space
	}
	m.dropBlank(&c, limit)
	if all {
		c.places = disjoint(c.places)
	}
	return c
}

// spaceReadings returns the possible interpretations of a space after the bar of a line number.
// true means that the space belongs to the number, which is certain if every bar has a space before
// and after it. Otherwise, both interpretations are possible.
func spaceReadings(old string) []bool {
	other := func(l string) bool { return !spacedNumber().MatchString(l) }
	if !slices.ContainsFunc(contents(old), other) {
		return []bool{true}
	}
	return []bool{true, false}
}

var spacedNumber = lazyregexp.New(`^ *\d+ \|(?: |$)`)

// dropBlank drops one blank line before, after, or around the text, in the way that drops the
// fewest lines. The loosest form must be unique. Otherwise, the match is ambiguous.
func (m *matcher) dropBlank(c *candidate, limit int) {
	lead, trail := strings.HasPrefix(c.old, "\n"), strings.HasSuffix(c.old, "\n")
	var loosest candidate
	for _, drop := range [][2]bool{{lead, trail}, {lead, false}, {false, trail}} {
		if !drop[0] && !drop[1] {
			continue
		}
		v := *c
		v.old, v.new = dropLines(c.old, c.new, drop[0], drop[1])
		v.places = m.atLineBorders(v.old, drop[0], drop[1], limit)
		if loosest.old == "" {
			loosest = v
		}
		if len(loosest.places) != 1 {
			break
		}
		if len(v.places) == 1 && v.places[0].start <= loosest.places[0].start &&
			v.places[0].end >= loosest.places[0].end {
			loosest = v
		}
	}
	if len(loosest.places) > 0 {
		*c = loosest
	}
}

func dropLines(old, new string, lead, trail bool) (string, string) {
	if lead {
		old, new = strings.TrimPrefix(old, "\n"), strings.TrimPrefix(new, "\n")
	}
	if trail {
		old, new = strings.TrimSuffix(old, "\n"), strings.TrimSuffix(new, "\n")
	}
	return old, new
}

// atLineBorders returns the exact matches of old that begin (lead) or end (trail) at a line border.
// If lead or trail is set, a line ending was dropped at that end.
func (m *matcher) atLineBorders(old string, lead, trail bool, limit int) []place {
	if strings.TrimSpace(old) == "" {
		return nil
	}
	var out []place
	for _, pl := range m.exact(old, false, limit) {
		startOK := !lead || pl.start == 0 || m.text[pl.start-1] == '\n'
		endOK := !trail || pl.end == len(m.text) || m.text[pl.end-1] == '\n' ||
			m.text[pl.end] == '\n'
		if startOK && endOK {
			out = append(out, pl)
		}
	}
	return out
}

// stripFence removes a Markdown fence around the complete text. It removes a fence from new only if
// old had one.
func stripFence(old, new string) (string, string) {
	inner, ok := insideFence(old)
	if !ok {
		return old, new
	}
	if n, ok := insideFence(new); ok {
		new = n
	}
	return inner, new
}

func insideFence(s string) (string, bool) {
	t := strings.Trim(s, "\n")
	first, rest, ok := strings.Cut(t, "\n")
	if !ok || !strings.HasPrefix(first, "```") || strings.Contains(first[3:], "`") {
		return s, false
	}
	if i := strings.LastIndexByte("\n"+rest, '\n'); strings.TrimSpace(rest[i:]) == "```" {
		return rest[:i], true
	}
	return s, false
}

// lineNumber matches the number that read tools print before a line: " 12| ", "12|", "12 | ",
// "12\t", "12→".
var lineNumber = lazyregexp.New(`^ *(\d+)( ?\||\t|→)`)

// stripNumbers removes line numbers if every line of old has one and each number is one higher than
// the previous. It removes them from new if all of its lines have them. Some tools print a space
// after the bar. If space is set, this space is removed too.
func stripNumbers(old, new string, space bool) (string, string) {
	stripped, ok := withoutNumbers(old, true, space)
	if !ok {
		return old, new
	}
	if n, ok := withoutNumbers(new, false, space); ok {
		return stripped, n
	}
	return stripped, new
}

func withoutNumbers(s string, rising, space bool) (string, bool) {
	body := strings.TrimSuffix(s, "\n")
	lines := strings.Split(body, "\n")
	last := -1
	for i, l := range lines {
		sub := lineNumber().FindStringSubmatch(l)
		if sub == nil {
			return s, false
		}
		n, err := strconv.Atoi(sub[1])
		if err != nil || rising && last >= 0 && n != last+1 {
			return s, false
		}
		last, lines[i] = n, l[len(sub[0]):]
		if space && sub[2] != "\t" {
			lines[i] = strings.TrimPrefix(lines[i], " ")
		}
	}
	return strings.Join(lines, "\n") + s[len(body):], true
}
