package edittest

import (
	"fmt"
	"slices"
	"strings"
)

// Format is one of the formats that models use for edits.
type Format int

// The formats, with the tools that they come from.
const (
	Single  Format = iota // one pair of old and new text
	Multi                 // several pairs of old and new text
	Blocks                // SEARCH/REPLACE blocks with the file name above (Aider)
	Cline                 // SEARCH/REPLACE blocks with the markers of replace_in_file
	Roo                   // SEARCH/REPLACE blocks of apply_diff, which have line numbers
	Begin                 // *** Begin Patch (Codex)
	Unified               // a unified diff (git)
	Whole                 // the complete new file
	Formats               // the number of formats
)

func (f Format) String() string {
	return [...]string{"single", "multi", "blocks", "cline", "roo", "begin", "unified", "whole"}[f]
}

// Pair is a search text and its replacement.
type Pair struct{ Old, New string }

// Call contains the texts of one call by the model. Only one of Pairs, Patch and Content is set.
type Call struct {
	Format  Format
	Path    string // file name, if the call contains it outside the patch
	Pairs   []Pair
	Patch   string
	Content *string

	// Hidden means that the text of the call does not express the complete intent, so that
	// different intents can have the same text.
	Hidden bool
}

// shown is one changed region as the model writes it.
type shown struct {
	before, old, new, after []string
	line                    int // 1-based number of the first line
	fileEnd                 bool

	elsewhere bool // the shown text has another meaning if it is taken literally
	wrongLine bool // the incorrect line number is that of another region with the same text
}

func (s shown) oldSide() []string { return slices.Concat(s.before, s.old, s.after) }
func (s shown) newSide() []string { return slices.Concat(s.before, s.new, s.after) }

// Write expresses the intent in a format. ok is false if the noise cannot be applied to that
// format.
func Write(in Intent, f Format, n Noise, choose Choose) (call Call, ok bool) {
	call = Call{Format: f}
	if f == Whole {
		text := string(in.Want())
		text = strings.ReplaceAll(text, "\r\n", "\n")
		if n.CRLF {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		call.Path, call.Content = in.Path, &text
		return call, !n.Doomed()
	}
	regions := in.regions(f, n)
	if len(regions) == 0 || n.Doomed() && !n.spoil(regions, in.Lines, choose) {
		return call, false
	}
	w := &writer{in: in, n: n, regions: regions}
	switch f {
	case Single, Multi:
		call.Path, call.Pairs = in.Path, w.pairs()
	case Cline, Roo:
		call.Path, call.Patch = in.Path, w.blocks(f)
	case Blocks:
		call.Patch = w.blocks(f)
	case Begin:
		call.Patch = w.begin()
	case Unified:
		call.Patch = w.unified()
	}
	call.Hidden = w.hidden ||
		slices.ContainsFunc(regions, func(s shown) bool { return s.elsewhere || s.wrongLine })
	if n.CRLF {
		call.Patch = strings.ReplaceAll(call.Patch, "\n", "\r\n")
		for i, p := range call.Pairs {
			call.Pairs[i] = Pair{
				strings.ReplaceAll(p.Old, "\n", "\r\n"),
				strings.ReplaceAll(p.New, "\n", "\r\n"),
			}
		}
	}
	return call, true
}

// regions returns the changes with their context. For the format Single, all regions are joined.
func (in Intent) regions(f Format, n Noise) []shown {
	changes := in.Changes
	if f == Single && len(changes) > 1 {
		from, to := changes[0].From, changes[len(changes)-1].To
		part := Intent{Lines: in.Lines[:to], Changes: changes}.after()[from:]
		changes = []Change{{from, to, part}}
	}
	var out []shown
	end := 0 // end of the previous region
	for i, c := range changes {
		next := len(in.Lines)
		if i+1 < len(changes) {
			next = changes[i+1].From
		}
		lo, hi := max(end, c.From-n.Context), min(next, c.To+n.Context)
		anchored := f == Begin || f == Unified && n.Header.NoRange || f != Unified
		if lo == hi && anchored {
			if lo > end {
				lo--
			} else if hi < next {
				hi++
			} else {
				return nil // there is no line at which to anchor the insertion
			}
		}
		s := shown{
			before:  in.Lines[lo:c.From],
			old:     in.Lines[c.From:c.To],
			new:     c.New,
			after:   in.Lines[c.To:hi],
			line:    lo + 1,
			fileEnd: hi == len(in.Lines),
		}
		s.write(n, f, in.Lines[lo:hi])
		s.elsewhere = s.elsewhere || s.means(n, in.Lines, lo, hi)
		s.wrongLine = n.Header.Offset != 0 && contains(in.Lines, s.oldSide(), lo+n.Header.Offset)
		out, end = append(out, s), hi
	}
	return out
}

// write rewrites the region as the model writes it. file contains the region's lines as they are in
// the file.
func (s *shown) write(n Noise, f Format, file []string) {
	indents, margin := "", ""
	for _, l := range s.oldSide() {
		indents += indentOf(l)
	}
	if !strings.Contains(indents, "\t") {
		n.Spaces = 0 // the shown lines do not reveal the width of a tab
	}
	if strings.TrimSpace(strings.Join(s.oldSide(), "")) != "" {
		margin = common(s.before, s.old, s.new, s.after)
	}
	s.before = n.apply(s.before, margin, true)
	s.old = n.apply(s.old, margin, true)
	s.after = n.apply(s.after, margin, true)
	s.new = n.apply(s.new, margin, false)
	if !n.Outdented || margin == "" {
		return
	}
	// elsewhere means that the new text already has the indentation of the file. This applies to
	// the whole text, or to all lines but the first if the edit is within one line.
	s.elsewhere = common(s.newSide()) == common(file)
	if new := s.newSide(); (f == Single || f == Multi) && len(file) == 1 && len(new) > 1 {
		s.elsewhere = s.elsewhere || strings.HasPrefix(common(new[1:]), indentOf(file[0]))
	}
}

// means reports whether the shown text could stand for lines other than the lines [lo,hi) of the
// file.
func (s *shown) means(n Noise, lines []string, lo, hi int) bool {
	file := lines[lo:hi]
	if !slices.Equal(s.oldSide(), file) && contains(lines, bare(s.oldSide()), -1) {
		return true
	}
	// If several lines look alike, a shown line can stand for any of them. It is then undefined
	// which line's white space and typographic characters remain.
	if n.Trimmed || n.loose() {
		seen := map[string]bool{}
		for _, l := range slices.Concat(file, s.new) {
			key := ascii.Replace(strings.TrimSpace(l))
			if alike := seen[key]; alike && !slices.Equal(s.oldSide(), file) {
				return true
			}
			seen[key] = true
		}
	}
	return false
}

// bare returns the lines without leading and trailing blank lines.
func bare(lines []string) []string {
	for len(lines) > 1 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 1 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// contains reports whether lines contains the sequence part. The sequence may begin at any line if
// at is -1. Otherwise, it must begin at the index at.
func contains(lines, part []string, at int) bool {
	for i := 0; i+len(part) <= len(lines); i++ {
		if (at < 0 || i == at) && slices.Equal(lines[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// spoil makes one shown line differ from the file, or removes one line. It reports whether the
// result is absent from the file.
func (n Noise) spoil(regions []shown, lines []string, choose Choose) bool {
	s := &regions[choose(len(regions))]
	if n.Stale {
		for _, part := range []*[]string{&s.before, &s.after, &s.old} {
			for i, l := range *part {
				if !blank(l) {
					*part = slices.Clone(*part)
					(*part)[i] = l + " zz"
					return true
				}
			}
		}
		return false
	}
	if len(s.old) < 3 {
		return false
	}
	s.old = slices.Delete(slices.Clone(s.old), 1, 2)
	return !loosely(lines, s.oldSide())
}

// loosely reports whether lines contains part if differences in white space and quotes are ignored.
func loosely(lines, part []string) bool {
	key := func(ls []string) string {
		var b strings.Builder
		for _, l := range ls {
			if l = strings.Join(strings.Fields(ascii.Replace(l)), ""); l != "" {
				b.WriteString(l)
			}
		}
		return b.String()
	}
	return strings.Contains(key(lines), key(part))
}

type writer struct {
	in      Intent
	n       Noise
	regions []shown
	hidden  bool
}

// text joins lines into a search text or a replacement.
func (w *writer) text(lines []string, ended bool) string {
	s := strings.Join(lines, "\n")
	if ended && len(lines) > 0 {
		s += "\n"
	}
	return s
}

func (w *writer) numbered(lines []string, from int) []string {
	if !w.n.Numbers {
		return lines
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = fmt.Sprintf("%4d | %s", from+i, l)
	}
	return out
}

func (w *writer) pairs() []Pair {
	var out []Pair
	for _, s := range w.regions {
		old, new := s.oldSide(), s.newSide()
		ended := w.n.Ended || len(new) == 0 || new[len(new)-1] == "" || old[len(old)-1] == ""
		p := Pair{
			w.text(w.numbered(old, s.line), ended),
			w.text(w.numbered(new, s.line), ended),
		}
		if w.n.Fence {
			p.Old, p.New = "```\n"+strings.TrimSuffix(
				p.Old,
				"\n",
			)+"\n```", "```\n"+strings.TrimSuffix(
				p.New,
				"\n",
			)+"\n```"
			w.hidden = w.hidden || len(new) == 0
		}
		out = append(out, p)
	}
	return out
}

// decorations are the ways in which models decorate a file name above a block.
var decorations = []string{"%s", "`%s`", "**%s**", "### %s", "File: %s", "%s:"}

func (w *writer) blocks(f Format) string {
	var b strings.Builder
	if w.n.Prose {
		b.WriteString("I will change the following lines.\n\n")
	}
	search, replace := "<<<<<<< SEARCH", ">>>>>>> REPLACE"
	if f == Cline {
		search, replace = "------- SEARCH", "+++++++ REPLACE"
	}
	for i, s := range w.regions {
		if f == Blocks && (i == 0 || !w.n.NameOnce) {
			fmt.Fprintf(&b, decorations[w.n.Decorated]+"\n", w.in.Path)
		}
		if w.n.Fence {
			b.WriteString("```go\n")
		}
		b.WriteString(search + "\n")
		if f == Roo {
			fmt.Fprintf(&b, ":start_line:%d\n-------\n", max(1, s.line+w.n.Header.Offset))
		}
		b.WriteString(
			w.blockText(
				f,
				w.numbered(s.oldSide(), s.line),
			) + "=======\n" + w.blockText(
				f,
				w.numbered(s.newSide(), s.line),
			) + replace + "\n",
		)
		if w.n.Fence {
			b.WriteString("```\n")
		}
		b.WriteString("\n")
	}
	if w.n.Prose {
		b.WriteString("That is all.\n")
	}
	return b.String()
}

func (w *writer) blockText(f Format, lines []string) string {
	out := slices.Clone(lines)
	for i, l := range out {
		if f == Roo && !w.n.NoEscape &&
			slices.ContainsFunc(
				[]string{
					"<<<<<<<",
					"=======",
					">>>>>>>",
					"-------",
					":start_line:",
					":end_line:",
				},
				func(m string) bool { return strings.HasPrefix(l, m) },
			) {
			out[i] = `\` + l
		}
		w.hidden = w.hidden ||
			f == Roo &&
				strings.HasPrefix(
					l,
					`\`,
				) // the format has no escape for a literal backslash
	}
	return w.text(out, true)
}

// hunk writes the lines of one region with their prefixes.
func (w *writer) hunk(b *strings.Builder, s shown) {
	context := func(lines []string) {
		for _, l := range lines {
			if l == "" && w.n.BareBlank {
				b.WriteString("\n")
			} else {
				b.WriteString(" " + l + "\n")
			}
		}
	}
	context(s.before)
	for _, l := range s.old {
		b.WriteString("-" + l + "\n")
	}
	mark := w.in.NoFinalEOL && s.fileEnd && !w.n.NoEOLMark && len(s.after) == 0
	if mark && len(s.old) > 0 {
		b.WriteString("\\ No newline at end of file\n")
	}
	for _, l := range s.new {
		b.WriteString("+" + l + "\n")
	}
	if mark && len(s.new) > 0 {
		b.WriteString("\\ No newline at end of file\n")
	}
	context(s.after)
	if w.in.NoFinalEOL && s.fileEnd && !w.n.NoEOLMark && len(s.after) > 0 {
		b.WriteString("\\ No newline at end of file\n")
	}
}

func (w *writer) wrap(info, text string) string {
	if w.n.Fence {
		text = "```" + info + "\n" + text + "```\n"
	}
	if w.n.Prose {
		text = "I will change the following lines.\n\n" + text + "\nThat is all.\n"
	}
	return text
}

func (w *writer) begin() string {
	var b strings.Builder
	w.n.NoEOLMark = true // this format does not have the mark
	b.WriteString("*** Begin Patch\n*** Update File: " + w.in.Path + "\n")
	for _, s := range w.regions {
		b.WriteString("@@\n")
		w.hunk(&b, s)
		if w.n.EndMark && s.fileEnd {
			b.WriteString("*** End of File\n")
		}
	}
	b.WriteString("*** End Patch\n")
	return w.wrap("", b.String())
}

func (w *writer) unified() string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", w.in.Path, w.in.Path)
	drift := 0
	for _, s := range w.regions {
		old, new := len(s.oldSide()), len(s.newSide())
		if w.n.Header.NoRange {
			b.WriteString("@@\n")
		} else {
			wrong := 0
			if w.n.Header.WrongCounts {
				wrong = 2
			}
			from := max(0, s.line+w.n.Header.Offset)
			if old == 0 {
				from = max(0, from-1)
				w.hidden = w.hidden || w.n.Header.Offset != 0
			}
			fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", from, old+wrong, from+drift, new+wrong)
		}
		drift += new - old
		w.hunk(&b, s)
	}
	return w.wrap("diff", b.String())
}
