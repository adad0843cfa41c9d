package edit

import (
	"fmt"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/patch"
	"slices"
	"strings"
)

// MatchPatch plans the changes of a patch to one file, either all or none, with the tiers and the
// uniqueness rule of Match. If a hunk matches more than once, only the matches after the previous
// hunk count. MatchPatch never rewrites context lines. For patch.Delete, the plan empties the text
// after checking the lines that the patch removes.
func MatchPatch(base []byte, p patch.File, opt Options) (*Plan, error) {
	if err := checkSize(base); err != nil {
		return nil, err
	}
	switch p.Op {
	case patch.Create:
		if len(base) > 0 {
			return nil, patchError("%s already exists; update it instead, or delete it first",
				p.Path)
		}
		return &Plan{Spans: []Span{{New: p.Content}}}, nil
	case patch.Delete:
		return planDelete(base, p, opt)
	case patch.Modify, patch.Rename:
		if len(p.Blocks) > 0 {
			return Match(base, replacements(p.Blocks), opt)
		}
		return matchHunks(base, p, opt)
	}
	return nil, patchError("unknown operation %q", p.Op)
}

// replacements converts SEARCH/REPLACE blocks to edits.
func replacements(blocks []patch.Block) []Replace {
	edits := make([]Replace, len(blocks))
	for i, b := range blocks {
		edits[i] = Replace{Old: b.Search, New: b.Replace, WholeLines: true, NearLine: b.Line}
	}
	return edits
}

// Whole plans the replacement of the complete text with content, whose line endings do not matter.
// Unchanged lines keep their own ending, and new lines get the ending of a neighboring line.
func Whole(base, content []byte, opt Options) (*Plan, error) {
	if err := checkSize(base); err != nil {
		return nil, err
	}
	m := newMatcher(base, opt, "edit")
	c := candidate{tier: T0, old: string(m.text), new: toLF(string(content))}
	if len(m.text) > 0 {
		if err := m.refuseElision(-1, contents(c.new)); err != nil {
			return nil, err
		}
	}
	s, _ := m.span(c, place{end: len(m.text)})
	p := &Plan{}
	if !sameText(base, s) {
		p.Spans = []Span{s}
	} else {
		p.Notes = []string{"the file already has this text; nothing to change"}
	}
	return m.finish(p)
}

// patchError returns the error for a patch that contradicts the file or itself.
func patchError(format string, args ...any) error {
	return &MatchError{Kind: KindPatch, Edit: -1,
		Msg: fmt.Sprintf(format, args...) + ". Nothing was changed."}
}

func planDelete(base []byte, p patch.File, opt Options) (*Plan, error) {
	m := newMatcher(base, opt, "hunk")
	var old []string
	for _, h := range p.Hunks {
		o, new := h.Sides()
		if len(new) > 0 {
			return nil, patchError("%s is deleted, but a hunk keeps or adds lines", p.Path)
		}
		old = append(old, o...)
	}
	if want := strings.Join(old, "\n"); len(p.Hunks) > 0 &&
		want != strings.TrimSuffix(string(m.text), "\n") {
		return nil, &MatchError{Kind: KindNotFound,
			Msg: fmt.Sprintf("%s was not deleted because its text differs from the text that the patch removes. Nothing was changed; read the file again.", p.Path)}
	}
	if len(base) == 0 {
		return &Plan{}, nil
	}
	return &Plan{Spans: []Span{{End: len(base)}}}, nil
}

// patchMatcher places the hunks of one file.
type patchMatcher struct {
	*matcher
	cursor int // line after the last hunk
	drift  int // difference between the last hunk's line and its header's line number
	byKey  *trimmedLines
}

func matchHunks(base []byte, f patch.File, opt Options) (*Plan, error) {
	pm := &patchMatcher{matcher: newMatcher(base, opt, "hunk")}
	p := &Plan{}
	for i, h := range f.Hunks {
		if err := pm.hunk(p, i, h); err != nil {
			return nil, err
		}
	}
	out, err := pm.finish(p)
	if err == nil && f.Op == patch.Rename {
		out.NoOp = false
	}
	return out, err
}

func (pm *patchMatcher) hunk(p *Plan, i int, h patch.Hunk) error {
	old, _ := h.Sides()
	if len(old) == 0 {
		return pm.insertion(p, i, h)
	}
	v, at, err := pm.locate(i, h)
	if err != nil || v.note != "" {
		if v.note != "" {
			p.Notes = append(p.Notes, pm.name(i)+v.note)
			pm.advance(v.hunk, at, at+v.newLen)
		}
		return err
	}
	if err := pm.refuseElision(i, v.hunk.Added()); err != nil {
		return err
	}
	old, _ = v.hunk.Sides()
	s, problem := pm.build(v.hunk, v.tier, at)
	if problem != "" {
		return &MatchError{Kind: KindNotFound, Edit: i, Line: at + 1,
			Msg: fmt.Sprintf("%sit matches line %d only if the indent is ignored, and %s. Nothing was changed. Send the hunk with the file's indent:\n%s", pm.name(i), at+1, problem, numbered(pm.text, pm.lines(), at, at+len(old)))}
	}
	s.Edit = i
	if !sameText(pm.base, s) {
		p.Spans = append(p.Spans, s)
	}
	if v.tier > T0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%smatched at line %d by tier %s (%s); verify the result", pm.name(i), at+1, v.tier, v.tier.Describe()))
	}
	pm.advance(h, at, at+len(old))
	return nil
}

func (pm *patchMatcher) advance(h patch.Hunk, from, to int) {
	if h.HasRange {
		pm.drift = from + 1 - h.OldLine
	}
	pm.cursor = max(pm.cursor, to)
}

// variant is a hunk in the form in which a tier found it. note is set if the text already contains
// the hunk.
type variant struct {
	hunk   patch.Hunk
	tier   Tier
	note   string
	newLen int
}

// locate runs the tiers in order. At the first tier with a match, it returns the match that pick
// selects.
func (pm *patchMatcher) locate(i int, h patch.Hunk) (variant, int, error) {
	scopes, err := pm.scopes(i, h)
	if err != nil {
		return variant{}, 0, err
	}
	for _, v := range pm.variants(h) {
		old, new := v.hunk.Sides()
		starts := pm.starts(v.tier, old)
		if len(starts) == 0 {
			continue
		}
		if at, ok := pm.applied(v, starts, old, new); ok {
			v.note, v.newLen = fmt.Sprintf("already applied at line %d; nothing to change", at+1),
				len(new)
			return v, at, nil
		}
		at, ok := pm.pick(v.hunk, starts, len(old), scopes)
		if !ok {
			return v, 0, pm.ambiguousHunk(i, v, starts)
		}
		return v, at, nil
	}
	_, new := h.Sides()
	if at := pm.starts(T0, new); len(at) == 1 && h.Changes() && telling(new) && leavesTrace(h) {
		return variant{hunk: h, note: fmt.Sprintf("its result is already at line %d; nothing to change", at[0]+1), newLen: len(new)}, at[0], nil
	}
	return variant{}, 0, pm.hunkNotFound(i, h)
}

// variants returns each tier's form of the hunk. T1 drops blank context lines at its borders.
func (pm *patchMatcher) variants(h patch.Hunk) []variant {
	out := []variant{{hunk: h, tier: T0}}
	isBlank := func(l patch.Line) bool { return l.Kind == ' ' && strings.TrimSpace(l.Text) == "" }
	n := len(h.Lines)
	lead, trail := n > 1 && isBlank(h.Lines[0]), n > 1 && isBlank(h.Lines[n-1])
	cut := func(from, to int) {
		short := h
		short.Lines = h.Lines[from:to]
		if old, _ := short.Sides(); strings.TrimSpace(strings.Join(old, "")) != "" {
			out = append(out, variant{hunk: short, tier: T1})
		}
	}
	if old, _ := h.Sides(); len(pm.starts(T2, old)) > 0 {
		lead, trail = false, false // the blank lines consist of white space
	}
	if trail {
		cut(0, n-1)
	}
	if lead {
		cut(1, n)
	}
	if lead && trail && n > 2 {
		cut(1, n-1)
	}
	for _, t := range []Tier{T2, T3, T4} {
		out = append(out, variant{hunk: h, tier: t})
	}
	return out
}

// starts lists the lines at which the pattern matches at tier t.
func (pm *patchMatcher) starts(t Tier, pat []string) []int {
	if len(pat) == 0 {
		return nil
	}
	key := t
	if t == T1 {
		key = T0
	}
	found := sequence(pm.lineIDs(key, pat))
	if t != T3 {
		return found
	}
	if !worthShifting(pat) || len(found)*len(pat) > shiftBudget {
		return nil
	}
	return slices.DeleteFunc(found, func(at int) bool { return len(pm.shifts(pat, at)) == 0 })
}

// applied reports whether the hunk only adds lines that the file already contains. In this case,
// every match of the old side is inside a match of the new side.
func (pm *patchMatcher) applied(v variant, starts []int, old, new []string) (int, bool) {
	if len(new) <= len(old) || v.tier == T3 {
		return 0, false
	}
	after := pm.starts(v.tier, new)
	j := 0
	for _, at := range starts {
		for j < len(after) && after[j]+len(new) < at+len(old) {
			j++
		}
		if j == len(after) || after[j] > at {
			return 0, false
		}
	}
	return after[0], true
}

// build returns the span that replaces the matched lines, of which the first has the index at.
func (pm *patchMatcher) build(h patch.Hunk, t Tier, at int) (s Span, problem string) {
	old, new := h.Sides()
	pl := pm.linePlace(pm.lines(), at, len(old), true)
	s = Span{Start: pm.orig(pl.start), End: pm.orig(pl.end), Tier: t}
	final := new
	if t == T3 {
		text, problem := pm.reindentHunk(h, pl)
		if problem != "" {
			return s, problem
		}
		final = text
	}
	w := &splicer{m: pm.matcher, pl: pl, tier: t, old: fullPieces(old), new: fullPieces(new),
		final: fullPieces(final), whole: true}
	s.New = w.run(changedRanges(h))
	keep := pl.noEOL && !h.NoNewlineOld || h.NoNewlineNew
	if keep && pl.end == len(pm.text) {
		s.New = cutEOL(s.New)
	}
	return s, ""
}

// reindentHunk shifts the added lines of the new side. Context lines are copied from the file.
func (pm *patchMatcher) reindentHunk(h patch.Hunk, pl place) ([]string, string) {
	old, side := h.Sides()
	text, problem := pm.reindent(strings.Join(old, "\n"), strings.Join(side, "\n"),
		strings.Join(h.Added(), "\n"), pl)
	if problem != "" {
		return nil, problem
	}
	fitted := strings.Split(text, "\n")
	var out []string
	for _, l := range h.Lines {
		switch l.Kind {
		case '+':
			out, fitted = append(out, fitted[0]), fitted[1:]
		case ' ':
			out = append(out, l.Text)
		}
	}
	return out, ""
}

// changedRanges returns the hunk's changes as ranges of old and new lines.
func changedRanges(h patch.Hunk) []chunk {
	var out []chunk
	a, b, open := 0, 0, false
	for _, l := range h.Lines {
		if l.Kind == ' ' {
			a, b, open = a+1, b+1, false
			continue
		}
		if !open {
			out, open = append(out, chunk{a, a, b, b}), true
		}
		if l.Kind == '-' {
			a++
		} else {
			b++
		}
		out[len(out)-1].a1, out[len(out)-1].b1 = a, b
	}
	return out
}

func fullPieces(lines []string) []piece {
	out := make([]piece, len(lines))
	for i, l := range lines {
		out[i] = piece{l, true}
	}
	return out
}

func cutEOL(data []byte) []byte {
	data = data[:len(data)-len(trailingEOL(data))]
	return data
}

func trailingEOL(data []byte) string {
	for _, eol := range []string{"\r\n", "\n", "\r"} {
		if strings.HasSuffix(string(data[max(0, len(data)-2):]), eol) {
			return eol
		}
	}
	return ""
}
