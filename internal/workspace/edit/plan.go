package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/clip"
)

// Tier is how loosely a search text was compared. Matches at T0 to T4 are applied. T5 to T7 only
// explain why nothing was changed. docs/reference/edits.md has an example of each tier.
type Tier int

// The tiers, strictest first.
const (
	T0 Tier = iota // byte-exact except for line endings
	// The match is exact, without a wrapping fence, line numbers, a surrounding blank line or a
	// last line ending.
	T1
	T2 // trailing white space is ignored
	T3 // one uniform shift of the indent
	T4 // typographic quotes, dashes and spaces are treated as ASCII
	T5 // the text is over-escaped; explained but not applied
	T6 // the text is elided with "..."; explained but not applied
	T7 // the text is only similar; explained but not applied
)

var tierNames = [...]string{
	"exact", "exact without wrapping", "trailing white space ignored", "indent shifted",
	"typographic characters folded", "over-escaped", "elided", "similar",
}

func (t Tier) String() string { return fmt.Sprintf("T%d", int(t)) }

// Describe describes the tier in words, for results and notes.
func (t Tier) Describe() string {
	if t < 0 || int(t) >= len(tierNames) {
		return t.String()
	}
	return tierNames[t]
}

// Span replaces base[Start:End] with New.
type Span struct {
	Start, End int
	New        []byte
	Tier       Tier
	Edit       int // index of the edit or patch hunk
}

// Plan contains the changes of a call to one text. Spans are sorted and do not overlap. Notes are
// for the model. NoOp means that the text already contains every edit. In that case, the call
// succeeds and changes nothing.
type Plan struct {
	Spans []Span
	Notes []string
	NoOp  bool
}

// Apply returns base with the spans replaced. spans must be sorted and disjoint.
func Apply(base []byte, spans []Span) []byte {
	out := make([]byte, 0, len(base))
	at := 0
	for _, s := range spans {
		out = append(out, base[at:s.Start]...)
		out = append(out, s.New...)
		at = s.End
	}
	return append(out, base[at:]...)
}

// MaxTier returns the loosest tier that the plan needed.
func (p *Plan) MaxTier() Tier {
	t := T0
	for _, s := range p.Spans {
		t = max(t, s.Tier)
	}
	return t
}

// Apply returns base with the plan applied.
func (p *Plan) Apply(base []byte) []byte { return Apply(base, p.Spans) }

// Hunks compares base with the plan's result. Each hunk has the loosest tier of the spans that
// touch it.
func (p *Plan) Hunks(base []byte) []Hunk {
	hunks := Hunks(base, p.Apply(base))
	i := 0
	for k := range hunks {
		h := &hunks[k]
		for i < len(p.Spans) && p.Spans[i].End < h.BaseStart {
			i++
		}
		for j := i; j < len(p.Spans) && p.Spans[j].Start <= h.BaseEnd; j++ {
			h.Tier = max(h.Tier, p.Spans[j].Tier)
		}
	}
	return hunks
}

// maxSummary limits the after-images in a summary, because replace_all can have thousands.
const maxSummary = 5

// Summary describes to the model what the plan changed: for up to maxSummary spans the resulting
// lines, the tier and an after-image with one line around it, and then the notes.
func (p *Plan) Summary(base []byte) string {
	var b strings.Builder
	after := p.Apply(base)
	lines := splitLines(after)
	shift := 0
	for i, s := range p.Spans {
		start := s.Start + shift
		shift += len(s.New) - (s.End - s.Start)
		if i == maxSummary {
			fmt.Fprintf(&b, "... and %d more places\n", len(p.Spans)-i)
		}
		if i < maxSummary {
			summarize(&b, after, lines, s, start)
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

func summarize(b *strings.Builder, after []byte, lines []line, s Span, start int) {
	from := lineIndex(lines, start)
	to := max(from, lineIndex(lines, max(start, start+len(s.New)-1)))
	verify := ""
	if s.Tier > T0 {
		verify = "; verify the result"
	}
	fmt.Fprintf(b, "edit %d: lines %d-%d, tier %s (%s%s)\n", s.Edit+1, from+1, to+1, s.Tier,
		s.Tier.Describe(), verify)
	b.WriteString(numbered(after, lines, from-1, to+2))
}

// lineIndex returns the index of the line that contains offset, or of the last line if offset is
// the end.
func lineIndex(lines []line, offset int) int {
	i, _ := slices.BinarySearchFunc(lines, offset, func(l line, o int) int {
		if l.next <= o {
			return -1
		}
		return 1
	})
	return min(i, max(0, len(lines)-1))
}

const (
	maxShownLines = 40  // maximum lines of a region in a message
	maxShownBytes = 240 // maximum bytes of one line in a message
)

// numbered formats lines [from,to) with their 1-based numbers, clipped.
func numbered(data []byte, lines []line, from, to int) string {
	var b strings.Builder
	from, to = max(0, from), min(to, len(lines))
	for i := from; i < to; i++ {
		if to-from > maxShownLines && i == from+maxShownLines/2 {
			skip := to - from - maxShownLines
			fmt.Fprintf(&b, "  ... %d lines ...\n", skip)
			i += skip
		}
		fmt.Fprintf(&b, "%5d| %s\n", i+1, clipped(string(data[lines[i].start:lines[i].end])))
	}
	return b.String()
}

// clipped shortens a line for a message.
func clipped(s string) string { return clip.Counted(s, maxShownBytes) }

func sortSpans(spans []Span) {
	slices.SortStableFunc(spans, func(a, b Span) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return a.End - b.End
	})
}

func sameText(base []byte, s Span) bool { return bytes.Equal(base[s.Start:s.End], s.New) }
