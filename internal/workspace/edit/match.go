package edit

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Replace is one search and replace edit. Old and New are the model's text. Their line endings do
// not matter, because the file's line endings are kept.
type Replace struct {
	Old, New      string
	ReplaceAll    bool // replace every match instead of only one
	ExpectedCount int  // if set, the exact number of matches; above 1 it implies ReplaceAll
	// NearLine is a 1-based line that selects one of several equal matches, if that match is at
	// least twice as near to the line as the next match. With WholeLines, it must be the first line
	// of one of the matches.
	NearLine   int
	WholeLines bool // match only complete lines
}

// Options configures Match and MatchPatch. The zero value is the normal case.
type Options struct {
	Path      string      // selects the parse guard and is named in messages; "" disables both
	Elsewhere []Elsewhere // other versions of the file, used to report where a missing text occurs
}

// Elsewhere is another version of the file, such as "the version on disk" or "a pending proposal".
type Elsewhere struct {
	Name string
	Data []byte
}

const (
	// largeSearch is the size of a search text, in bytes, above which models usually fail to copy
	// it exactly. The error mentions this.
	largeSearch = 4 << 10
	// minTelling is the minimum length, in bytes, of a new text that indicates that an edit was
	// made before. The edit counts as made if the file contains the new text but not the old text.
	minTelling = 8
	// maxPlaces limits the matches collected to detect and show an ambiguity.
	maxPlaces = 64
)

// Match plans edits of one snapshot, either all or none. Each edit must match exactly once at the
// first tier at which it matches at all, or select its matches (ReplaceAll, ExpectedCount,
// NearLine). The matched ranges must not overlap. Every error is a *MatchError and means that
// nothing may be changed.
func Match(base []byte, edits []Replace, opt Options) (*Plan, error) {
	if err := checkSize(base); err != nil {
		return nil, err
	}
	if len(edits) == 0 {
		return nil, &MatchError{Kind: KindEmpty, Edit: -1,
			Msg: "no edits were given; send at least one old/new pair"}
	}
	m := newMatcher(base, opt, "edit")
	p := &Plan{}
	for i, e := range edits {
		e.Old, e.New = toLF(e.Old), toLF(e.New)
		if err := m.edit(p, i, e); err != nil {
			return nil, err
		}
	}
	return m.finish(p)
}

// matcher contains one text in the forms that the tiers compare. It creates each form on first use.
type matcher struct {
	*view
	opt      Options
	noun     string // "edit" or "hunk", for messages
	plain    bool   // new lines end with LF regardless of the lines that they replace
	whole    bool   // the current edit matches only complete lines
	byTier   [T7 + 1]*normal
	tables   [T7 + 1]*lineTable
	split    []line // of view.text
	majority string
}

func newMatcher(base []byte, opt Options, noun string) *matcher {
	m := &matcher{view: newView(base), opt: opt, noun: noun}
	m.plain = bytes.IndexByte(base, '\r') < 0
	return m
}

func checkSize(base []byte) error {
	if len(base) <= MaxSize {
		return nil
	}
	return &MatchError{Kind: KindTooLarge, Edit: -1,
		Msg: fmt.Sprintf("the file has %d bytes, the limit for edits is %d; use a shell command instead", len(base), MaxSize)}
}

// place is a match, which is text[start:end] in the LF view.
type place struct {
	start, end int
	noEOL      bool // the search text ends with a line ending that the end of the file lacks
}

// candidate is a search text in the form that a tier searched for.
type candidate struct {
	tier     Tier
	old, new string
	places   []place
	partly   bool // line numbers were removed from old, and new has them on some lines only
}

func (m *matcher) edit(p *Plan, i int, e Replace) error {
	if e.Old == "" {
		return &MatchError{Kind: KindEmpty, Edit: i, Msg: m.name(i) +
			"the search text is empty; send the text to replace. To insert text, send the line at which to insert it and repeat this line in the new text. To create a file, write its complete text"}
	}
	if n := len(e.Old); n > largeSearch {
		p.Notes = append(p.Notes, fmt.Sprintf("%sthe search text has %d bytes; short ones (a few unique lines) fail less often", m.name(i), n))
	}
	m.whole = e.WholeLines
	c := m.find(e)
	if len(c.places) == 0 {
		if note := m.alreadyThere(e); note != "" {
			p.Notes = append(p.Notes, m.name(i)+note)
			return nil
		}
		return m.notFound(i, e)
	}
	if c.old == c.new || m.covered(c) {
		p.Notes = append(p.Notes, fmt.Sprintf("%sthe new text is already at line %d; nothing to change (to add it once more, include the lines after it in the search text)", m.name(i), m.lineOf(c.places[0].start)))
		return nil
	}
	chosen, err := m.choose(i, e, c)
	if err != nil {
		return err
	}
	if c.partly {
		msg := fmt.Sprintf("%sthe search text has line numbers, and the new text has them on some lines only. Nothing was changed. Send both without line numbers:\n%s",
			m.name(i), m.region(chosen[0]))
		return &MatchError{Kind: KindAmbiguous, Edit: i, Line: m.lineOf(chosen[0].start), Msg: msg}
	}
	if err := m.refuseElision(i, contents(c.new)); err != nil {
		return err
	}
	if err := m.refuseSeams(i, c, chosen); err != nil {
		return err
	}
	return m.addSpans(p, i, c, chosen)
}

func (m *matcher) addSpans(p *Plan, i int, c candidate, places []place) error {
	before := len(p.Spans)
	p.Spans = slices.Grow(p.Spans, len(places))
	for _, pl := range places {
		s, problem := m.span(c, pl)
		if problem != "" {
			return &MatchError{Kind: KindNotFound, Edit: i, Line: m.lineOf(pl.start),
				Msg: fmt.Sprintf("%sthe search text matches line %d only if the indent is ignored, and %s. Nothing was changed. Send old and new text with the file's indent:\n%s",
					m.name(i), m.lineOf(pl.start), problem, m.region(pl))}
		}
		s.Edit = i
		if !sameText(m.base, s) {
			p.Spans = append(p.Spans, s)
		}
	}
	if len(p.Spans) == before {
		p.Notes = append(p.Notes, fmt.Sprintf("%sthe text at line %d is already as requested; nothing to change", m.name(i), m.lineOf(places[0].start)))
	} else if c.tier > T0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%smatched at line %d by tier %s (%s); verify the result", m.name(i), m.lineOf(places[0].start), c.tier, c.tier.Describe()))
	}
	return nil
}

// lineOf works like view.lineOf but is fast once the lines are known. Otherwise, replacing
// thousands of matches would count the file's lines that many times.
func (m *matcher) lineOf(off int) int {
	if m.split == nil || off >= len(m.text) {
		return m.view.lineOf(off)
	}
	return lineIndex(m.split, off) + 1
}

// find runs the tiers in order and stops at the first tier with a match.
func (m *matcher) find(e Replace) candidate {
	all := e.ReplaceAll || e.ExpectedCount > 1
	limit := maxPlaces
	if all {
		limit = math.MaxInt
	} else if e.NearLine > 0 {
		limit = max(maxPlaces, min(10_000, (50<<20)/len(e.Old)))
	}
	c := candidate{tier: T0, old: e.Old, new: e.New, places: m.exactOrLast(e.Old, all, limit)}
	if len(c.places) > 0 {
		if !all && len(c.places) == 1 && m.endsBeforeSpace(c) {
			if loose := m.normalized(T2, e.Old+"\n", limit); len(loose) > 0 {
				c = candidate{tier: T2, old: e.Old + "\n", new: e.New + "\n", places: loose}
			}
		}
		return c
	}
	if c = m.unwrapped(e, all, limit); len(c.places) > 0 {
		return c
	}
	for _, t := range []Tier{T2, T3, T4} {
		c.tier = t
		if t == T3 {
			c.places = m.shifted(c.old, limit)
		} else {
			c.places = append(m.normalized(t, c.old, limit), m.lastLines(t, c.old)...)
		}
		if all {
			c.places = disjoint(c.places)
		}
		if len(c.places) > 0 {
			return c
		}
	}
	return candidate{}
}

// exact lists the occurrences of old. It includes overlapping ones unless all are to be replaced,
// because "aa" occurs twice in "aaa".
func (m *matcher) exact(old string, all bool, limit int) []place {
	var out []place
	pat := []byte(old)
	if all {
		out = make([]place, 0, bytes.Count(m.text, pat))
	}
	for at := 0; all || len(out) < limit; {
		i := bytes.Index(m.text[at:], pat)
		if i < 0 {
			break
		}
		if m.fits(at+i, at+i+len(pat)) {
			out = append(out, place{start: at + i, end: at + i + len(pat)})
		}
		if at += i + 1; all {
			at += len(pat) - 1
		}
	}
	return out
}

// exactOrLast lists the positions of old. They include the last line of a file without a final line
// ending if the line equals old except for that ending.
func (m *matcher) exactOrLast(old string, all bool, limit int) []place {
	places := m.exact(old, all, limit)
	if len(places) > 0 {
		places = append(places, m.lastLine(old)...)
	}
	return places
}

// endsBeforeSpace reports whether the edit adds lines after a search text that omits the white
// space at the end of its last line. That white space would move to the end of the new lines.
func (m *matcher) endsBeforeSpace(c candidate) bool {
	if strings.HasSuffix(c.old, "\n") {
		return false
	}
	rest := m.text[c.places[0].end:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	more := strings.Count(c.new, "\n") > strings.Count(c.old, "\n")
	return len(rest) > 0 && len(trimEnd(rest)) == 0 && more
}

// lastLine returns the end of a file that has no final line ending, if the end equals old without
// old's last line ending.
func (m *matcher) lastLine(old string) []place {
	body, ended := strings.CutSuffix(old, "\n")
	start := len(m.text) - len(body)
	if !ended || body == "" || !bytes.HasSuffix(m.text, []byte(body)) ||
		!m.fits(start, len(m.text)) {
		return nil
	}
	return []place{{start: start, end: len(m.text), noEOL: true}}
}

// lastLines works like lastLine at tier T2 or T4.
func (m *matcher) lastLines(t Tier, old string) []place {
	body, ended := strings.CutSuffix(old, "\n")
	if !ended || len(m.text) == 0 || m.text[len(m.text)-1] == '\n' {
		return nil
	}
	places := m.normalized(t, body, maxPlaces)
	if n := len(places); n > 0 && places[n-1].end == len(m.text) {
		return []place{{start: places[n-1].start, end: len(m.text), noEOL: true}}
	}
	return nil
}

// fits reports whether text[start:end] may be a match. If only complete lines match, it must
// consist of complete lines.
func (m *matcher) fits(start, end int) bool {
	return !m.whole || m.wholeLines(start, end)
}

// wholeLines reports whether text[start:end] begins and ends at line borders.
func (m *matcher) wholeLines(start, end int) bool {
	begins := start == 0 || m.text[start-1] == '\n'
	return begins && (end == len(m.text) || m.text[end] == '\n' || end > start &&
		m.text[end-1] == '\n')
}

func disjoint(places []place) []place {
	var out []place
	for _, p := range places {
		if n := len(out); n == 0 || out[n-1].end <= p.start {
			out = append(out, p)
		}
	}
	return out
}

// choose returns the matches to replace, or an error if their number does not fit the edit.
func (m *matcher) choose(i int, e Replace, c candidate) ([]place, error) {
	n := len(c.places)
	if e.ExpectedCount > 0 && n != e.ExpectedCount &&
		(n < maxPlaces || e.ReplaceAll || e.ExpectedCount > 1) {
		return nil, m.ambiguous(KindCount, i, c,
			fmt.Sprintf("%d places were expected, %d match", e.ExpectedCount, n))
	}
	if e.ReplaceAll || e.ExpectedCount > 1 || n == 1 {
		return c.places, nil
	}
	if e.NearLine > 0 {
		pl, ok := m.nearest(c.places, e.NearLine)
		if ok && (!e.WholeLines || m.lineOf(pl.start) == e.NearLine) {
			return []place{pl}, nil
		}
	}
	return nil, m.ambiguous(KindAmbiguous, i, c, "")
}

// nearest returns the match that begins on the given line, or that is at least twice as close to
// that line as any other match. Any weaker rule would be a guess.
func (m *matcher) nearest(places []place, near int) (place, bool) {
	best, second, pick := -1, -1, place{}
	at, lineNo := 0, 1
	for _, pl := range places {
		lineNo += bytes.Count(m.text[at:pl.start], []byte("\n"))
		at = pl.start
		d := max(lineNo-near, near-lineNo)
		switch {
		case best < 0 || d < best:
			best, second, pick = d, best, pl
		case second < 0 || d < second:
			second = d
		}
	}
	return pick, best*2 <= second && best < second
}

// alreadyThere detects an edit that was applied before. This is the case if the old text does not
// occur, and the new one occurs exactly once. Short or partial texts prove nothing.
func (m *matcher) alreadyThere(e Replace) string {
	if len(strings.TrimSpace(e.New)) < minTelling ||
		strings.Contains(e.Old, strings.Trim(e.New, "\n")) {
		return ""
	}
	at := m.exact(e.New, false, 2)
	if len(at) != 1 || !wholeWords(m.text, at[0].start, at[0].end) {
		return ""
	}
	return fmt.Sprintf("the old text is not there and the new text is already at line %d; nothing to change", m.lineOf(at[0].start))
}

// covered reports whether every match is already part of the new text, as after this edit.
func (m *matcher) covered(c candidate) bool {
	if len(c.new) <= len(c.old) {
		return false
	}
	var at []place
	limit := maxPlaces + 2*len(c.places)
	switch c.tier {
	case T0, T1:
		at = m.exact(c.new, false, limit)
	case T3:
		if sameTrimmed(c.old, c.new) {
			return false
		}
		at = m.shifted(c.new, limit)
	default:
		at = m.normalized(c.tier, c.new, limit)
	}
	at = slices.DeleteFunc(at, func(pl place) bool { return !m.hasAdded(c, pl) })
	j := 0
	for _, pl := range c.places {
		for j < len(at) && at[j].end < pl.end {
			j++
		}
		if j == len(at) || at[j].start > pl.start {
			return false
		}
	}
	return true
}

// hasAdded reports whether the file already contains, as complete lines at pl, the lines that the
// new text adds to the old text. An existing line break or the beginning of a line is not enough.
func (m *matcher) hasAdded(c candidate, pl place) bool {
	if strings.Count(c.new, "\n") == strings.Count(c.old, "\n") {
		return true
	}
	starts := pl.start == 0 || m.text[pl.start-1] == '\n' || strings.HasPrefix(c.new, c.old)
	ends := pl.end == len(m.text) || m.text[pl.end] == '\n' || strings.HasSuffix(c.new, c.old)
	ends = ends || strings.HasSuffix(c.new, "\n") && strings.HasSuffix(c.old, "\n")
	return starts && ends
}

// finish checks that the spans are disjoint and that the result parses.
func (m *matcher) finish(p *Plan) (*Plan, error) {
	sortSpans(p.Spans)
	for k := 1; k < len(p.Spans); k++ {
		if a, b := p.Spans[k-1], p.Spans[k]; b.Start < a.End || a.Start == b.Start {
			at := 1 + countLines(m.base[:b.Start])
			return nil, &MatchError{Kind: KindOverlap, Edit: b.Edit, Line: at,
				Msg: fmt.Sprintf("%ss %d and %d overlap at line %d; all %ss of a call are matched against the same text, so join them into one. Nothing was changed.", m.noun, min(a.Edit, b.Edit)+1, max(a.Edit, b.Edit)+1, at, m.noun)}
		}
	}
	p.NoOp = len(p.Spans) == 0
	if p.NoOp || m.opt.Path == "" {
		return p, nil
	}
	if err := ParseGuard(m.opt.Path, m.base, p.Apply(m.base)); err != nil {
		if t := p.MaxTier(); t > T0 {
			return nil, &MatchError{Kind: KindParse, Edit: -1,
				Msg: fmt.Sprintf("the text was found only by tier %s (%s), and the result would no longer parse: %v. Nothing was changed; read those lines again and send it exactly.", t, t.Describe(), err)}
		}
		p.Notes = append(p.Notes, fmt.Sprintf("warning: the file parsed before and does not now: %v", err))
	}
	return p, nil
}
