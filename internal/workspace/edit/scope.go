package edit

import (
	"fmt"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/patch"
	"maps"
	"slices"
	"strings"
)

// block is a range of lines in which a hunk may begin.
type block struct{ from, to int }

// pick returns the only match, or the match that is distinguished by the end of the file, the
// scope, the order of hunks, or the line or heading in the header.
func (pm *patchMatcher) pick(h patch.Hunk, starts []int, n int, scopes []block) (int, bool) {
	if h.AtEOF {
		if last := starts[len(starts)-1]; last+n == len(pm.lines()) {
			return last, true
		}
	}
	if len(starts) == 1 {
		return starts[0], true
	}
	behind := keepStarts(starts, block{pm.cursor, len(pm.lines())})
	if len(scopes) > 0 {
		if in := inBlocks(behind, scopes); len(in) > 0 {
			behind = in
		} else {
			behind = keepStarts(behind, block{scopes[0].from, len(pm.lines())})
		}
	}
	if len(behind) == 1 {
		return behind[0], true
	}
	if h.HasRange && h.OldLine > 0 {
		if at, ok := pm.named(behind, h.OldLine-1); ok {
			return at, true
		}
	}
	if h.Section != "" {
		if in := inBlocks(behind, pm.blocks([]string{h.Section})); len(in) == 1 {
			return in[0], true
		}
	}
	return 0, false
}

func keepStarts(starts []int, b block) []int {
	var out []int
	for _, s := range starts {
		if s >= b.from && s < b.to {
			out = append(out, s)
		}
	}
	return out
}

func inBlocks(starts []int, blocks []block) []int {
	var out []int
	for _, s := range starts {
		for _, b := range blocks {
			if s >= b.from && s < b.to {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// named returns the line at which a hunk begins according to its header. If the header of the
// previous hunk was wrong, named assumes that this header is wrong by the same number of lines. If
// this header names one of the starts exactly, either may be right, so named returns false.
func (pm *patchMatcher) named(starts []int, line int) (int, bool) {
	drifted := slices.Contains(starts, line+pm.drift)
	if pm.drift != 0 && slices.Contains(starts, line) {
		return 0, false
	}
	return line + pm.drift, drifted
}

// scopes returns the blocks of the hunk's "@@" lines. A missing scope is an error even if the
// hunk's lines are unique, because either the scope or the lines are wrong.
func (pm *patchMatcher) scopes(i int, h patch.Hunk) ([]block, error) {
	if len(h.Scopes) == 0 {
		return nil, nil
	}
	out := pm.blocks(h.Scopes)
	if len(out) > 0 {
		return out, nil
	}
	err := &MatchError{Kind: KindNotFound, Edit: i}
	missing := h.Scopes[0]
	for n := range h.Scopes {
		if len(pm.blocks(h.Scopes[:n+1])) == 0 {
			missing = h.Scopes[n]
			break
		}
	}
	err.Msg = fmt.Sprintf("%sthe line after @@ was not found%s: %s\nNothing was changed. @@ must repeat a whole line of the file that is above the hunk.\n%s", pm.name(i), inFile(pm.opt.Path), clipped(missing), pm.diagnose(err, []string{missing}, true))
	return nil, err
}

// blocks finds nested scopes, from the outermost to the innermost.
func (pm *patchMatcher) blocks(scopes []string) []block {
	out := []block{{0, len(pm.lines())}}
	for _, s := range scopes {
		var inner []block
		for _, b := range out {
			for _, at := range pm.scopeLines(s, b) {
				inner = append(inner, block{at, min(b.to, pm.blockEnd(at))})
			}
		}
		out = inner
	}
	return out
}

// scopeLines returns the lines in b that the scope names. These are the lines that are equal except
// for space at both ends. If there are none, they are the lines that begin with the scope.
func (pm *patchMatcher) scopeLines(scope string, b block) []int {
	scope = trimmedKey(scope)
	x := pm.trimmed()
	if equal := keepStarts(x.lines[scope], b); len(equal) > 0 {
		return equal
	}
	var begin []int
	at, _ := slices.BinarySearch(x.keys, scope)
	for ; at < len(x.keys) && strings.HasPrefix(x.keys[at], scope); at++ {
		if !insideWord([]byte(x.keys[at]), len(scope)) {
			begin = append(begin, keepStarts(x.lines[x.keys[at]], b)...)
		}
	}
	slices.Sort(begin)
	return begin
}

// trimmedLines finds lines by their text without the space around it.
type trimmedLines struct {
	lines map[string][]int
	keys  []string // trimmed text of the lines, sorted
}

func (pm *patchMatcher) trimmed() *trimmedLines {
	if pm.byKey != nil {
		return pm.byKey
	}
	exact := pm.table(T0)
	keys := make([]string, len(exact.distinct))
	for i, l := range exact.distinct {
		keys[i] = trimmedKey(l)
	}
	pm.byKey = &trimmedLines{lines: make(map[string][]int, len(keys))}
	for i, id := range exact.ids {
		pm.byKey.lines[keys[id]] = append(pm.byKey.lines[keys[id]], i)
	}
	pm.byKey.keys = slices.Sorted(maps.Keys(pm.byKey.lines))
	return pm.byKey
}

func trimmedKey(l string) string { return lineKey(T4, strings.TrimSpace(l)) }

func (pm *patchMatcher) lineText(i int) string {
	exact := pm.table(T0)
	return exact.distinct[exact.ids[i]]
}

// blockEnd returns the index of the line after a block. The parameter at is the index of the line
// that begins the block. The block consists of the lines that are indented deeper than this line.
// In flat text, it consists of all lines up to the next one that begins in the same way.
func (pm *patchMatcher) blockEnd(at int) int {
	n := len(pm.lines())
	depth := len(indentOf(pm.lineText(at)))
	j := at + 1
	for j < n && (strings.TrimSpace(pm.lineText(j)) == "" ||
		strings.TrimSpace(pm.lineText(j)) == "{") {
		j++
	}
	if j == n {
		return n
	}
	nested := len(indentOf(pm.lineText(j))) > depth
	head := firstToken(pm.lineText(at))
	for ; j < n; j++ {
		l := pm.lineText(j)
		if strings.TrimSpace(l) == "" {
			continue
		}
		if nested && len(indentOf(l)) <= depth || !nested && firstToken(l) == head {
			return j
		}
	}
	return n
}

// firstToken returns a line's leading word or its leading punctuation.
func firstToken(l string) string {
	l = strings.TrimSpace(l)
	for i, r := range l {
		if i > 0 && isWord(r) != isWord(rune(l[0])) {
			return l[:i]
		}
	}
	return l
}

// insertion plans a hunk that only adds lines: after its scope, at the end of the file, or at the
// position in its header. It never guesses a position.
func (pm *patchMatcher) insertion(p *Plan, i int, h patch.Hunk) error {
	at, err := pm.insertAt(i, h)
	if err != nil {
		return err
	}
	_, new := h.Sides()
	if found := pm.starts(T0, new); telling(new) &&
		(slices.Contains(found, at) || slices.Contains(found, at-len(new))) {
		p.Notes = append(p.Notes, fmt.Sprintf("%salready applied at line %d; nothing to change",
			pm.name(i), at+1))
		return nil
	}
	lines := pm.lines()
	pl := place{}
	if len(lines) > 0 && at > 0 {
		pl = pm.linePlace(lines, at-1, 1, true)
		old := fullPieces([]string{pm.lineText(at - 1)})
		both := append(old[:1:1], fullPieces(new)...)
		w := &splicer{m: pm.matcher, pl: pl, old: old, new: both, final: both, whole: true}
		s := Span{Start: pm.orig(pl.start), End: pm.orig(pl.end), Edit: i,
			New: w.run([]chunk{{1, 1, 1, len(both)}})}
		if pl.noEOL && !h.NoNewlineOld || h.NoNewlineNew && pl.end == len(pm.text) {
			s.New = cutEOL(s.New)
		}
		p.Spans = append(p.Spans, s)
	} else {
		w := &splicer{m: pm.matcher, pl: pl, new: fullPieces(new), final: fullPieces(new),
			whole: true}
		s := Span{Edit: i, New: w.run([]chunk{{0, 0, 0, len(new)}})}
		if len(pm.base) == 0 && h.NoNewlineNew {
			s.New = cutEOL(s.New)
		}
		p.Spans = append(p.Spans, s)
	}
	pm.cursor = max(pm.cursor, at)
	return nil
}

// insertAt returns the number of lines before the insertion.
func (pm *patchMatcher) insertAt(i int, h patch.Hunk) (int, error) {
	n := len(pm.lines())
	if len(h.Scopes) > 0 {
		blocks, err := pm.scopes(i, h)
		if err != nil {
			return 0, err
		}
		if len(blocks) > 1 {
			var starts []int
			for _, b := range blocks {
				starts = append(starts, b.from)
			}
			return 0, pm.ambiguousHunk(i, variant{hunk: h}, starts)
		}
		return blocks[0].from + 1, nil
	}
	switch {
	case h.AtEOF, n == 0:
		return n, nil
	case h.HasRange && h.OldLine <= n && pm.drift == 0:
		return h.OldLine, nil
	case h.HasRange && pm.drift != 0:
		return 0, &MatchError{Kind: KindEmpty, Edit: i,
			Msg: fmt.Sprintf("%sit only adds lines, and the line numbers of this patch are wrong (by %d in the hunk before). Add the line above as context. Nothing was changed.", pm.name(i), pm.drift)}
	}
	return 0, &MatchError{Kind: KindEmpty, Edit: i, Msg: pm.name(i) +
		"it only adds lines and does not say where: add the line above as context, or name it after @@, or end the hunk with \"" + patch.EndOfFile + "\". Nothing was changed."}
}

// telling reports whether lines are long enough to prove by their presence that an edit added them.
func telling(lines []string) bool {
	return len(strings.TrimSpace(strings.Join(lines, ""))) >= minTelling
}

// leavesTrace reports whether the result of the hunk proves that the hunk was applied. This is the
// case if the hunk adds lines, or if the lines that it removes were between other lines.
func leavesTrace(h patch.Hunk) bool {
	old, _ := h.Sides()
	fresh := slices.DeleteFunc(h.Added(), func(l string) bool { return slices.Contains(old, l) })
	return telling(fresh) || h.Lines[0].Kind == ' ' && h.Lines[len(h.Lines)-1].Kind == ' '
}

func (pm *patchMatcher) ambiguousHunk(i int, v variant, starts []int) error {
	c := candidate{tier: v.tier}
	for _, at := range starts[:min(len(starts), maxPlaces)] {
		c.places = append(c.places, place{start: pm.lines()[at].start})
	}
	return pm.ambiguous(KindAmbiguous, i, c,
		fmt.Sprintf("its context matches %s places (tier %s, %s)", atLeast(len(c.places)), v.tier,
			v.tier.Describe()))
}

func (pm *patchMatcher) hunkNotFound(i int, h patch.Hunk) error {
	err := &MatchError{Kind: KindNotFound, Edit: i}
	old, _ := h.Sides()
	err.Msg = fmt.Sprintf("%sits context and removed lines were not found%s. Nothing was changed.\n%s%s", pm.name(i), inFile(pm.opt.Path), pm.elsewhere(strings.Join(old, "\n")), pm.diagnose(err, old, true))
	return err
}
