package edit

import "strings"

// piece is one line of a model's text.
type piece struct {
	text string
	nl   bool // whether a line ending follows
}

func pieces(s string) []piece {
	var out []piece
	for s != "" {
		text, rest, nl := strings.Cut(s, "\n")
		out = append(out, piece{text, nl})
		s = rest
	}
	return out
}

// span builds the replacement of one match. problem is set if a tier found the match but the new
// text cannot be adapted to it.
func (m *matcher) span(c candidate, pl place) (s Span, problem string) {
	s = Span{Start: m.orig(pl.start), End: m.orig(pl.end), Tier: c.tier}
	if c.tier <= T1 && m.plain && !pl.noEOL {
		s.New = []byte(c.new)
		return s, ""
	}
	old, new := c.old, c.new
	if (c.tier == T2 || c.tier == T4) && m.asLines(old, new, pl) {
		if old, new = old+"\n", new+"\n"; pl.end < len(m.text) {
			pl.end++
			s.End = m.orig(pl.end)
		} else {
			pl.noEOL = true
		}
	}
	final := new
	if c.tier == T3 {
		if final, problem = m.reindent(old, new, new, pl); problem != "" {
			return s, problem
		}
	}
	w := &splicer{
		m: m, pl: pl, tier: c.tier, whole: pl.noEOL,
		old: pieces(old), new: pieces(new), final: pieces(final),
	}
	ia, ib := intern(w.keys(w.old), w.keys(w.new))
	if s.New = w.run(diffIDs(ia, ib)); pl.noEOL {
		s.New = cutEOL(s.New)
	}
	return s, ""
}

// asLines reports whether texts without a last line ending represent complete lines at pl. If the
// texts are compared as lines, a line that both contain counts as the same line even if it is the
// last line of only one of them.
func (m *matcher) asLines(old, new string, pl place) bool {
	if new == "" || strings.HasSuffix(old, "\n") || strings.HasSuffix(new, "\n") {
		return false
	}
	return m.wholeLines(pl.start, pl.end) && (pl.end == 0 || m.text[pl.end-1] != '\n')
}

// splicer writes the replacement of one match line by line. Lines that the edit keeps are copied
// from the file. New lines get the ending of the line that they replace or follow.
type splicer struct {
	m    *matcher
	pl   place
	tier Tier
	// The search text, the new text, and the new text adapted to the file.
	old, new, final []piece
	file            []line // the matched lines in the view, with offsets from pl.start
	// whole means that the texts consist of complete lines, as in a hunk. If a hunk's line is the
	// last line of the file and has no ending, it gets an ending.
	whole bool
	out   []byte
}

func (w *splicer) run(chunks []chunk) []byte {
	w.file = splitLF(w.m.text[w.pl.start:w.pl.end])
	at := 0
	for _, c := range chunks {
		w.copyFile(at, c.a0)
		w.replace(c)
		at = c.a1
	}
	w.copyFile(at, len(w.old))
	return w.out
}

// keys returns the keys by which lines of the model's texts are compared. Above T1, the keys omit
// trailing space, because the match ignored it too.
func (w *splicer) keys(ps []piece) []piece {
	if w.tier <= T1 {
		return ps
	}
	out := make([]piece, len(ps))
	for i, p := range ps {
		out[i] = piece{strings.TrimRight(p.text, " \t"), p.nl}
	}
	return out
}

func (w *splicer) copyFile(from, to int) {
	if from >= to || from >= len(w.file) {
		return
	}
	m := w.m
	start, end := w.pl.start+w.file[from].start, w.pl.start+w.file[min(to, len(w.file))-1].next
	w.out = append(w.out, m.base[m.orig(start):m.orig(end)]...)
	if last := w.file[min(to, len(w.file))-1]; w.whole && last.end == last.next {
		w.out = append(w.out, w.ending(min(to, len(w.file))-1)...)
	}
}

func (w *splicer) replace(c chunk) {
	for j := c.b0; j < c.b1; j++ {
		i := c.a0 + j - c.b0
		text := w.final[j].text
		if w.tier == T4 && i < c.a1 && i < len(w.file) {
			l := w.file[i]
			text = keepForm(w.old[i].text, w.new[j].text,
				string(w.m.text[w.pl.start+l.start:w.pl.start+l.end]), c.a1-c.a0 == c.b1-c.b0)
		}
		w.out = append(w.out, text...)
		if w.final[j].nl {
			w.out = append(w.out, w.ending(min(i, c.a1-1))...)
		}
	}
}

// ending returns the ending of a new line. This is the ending of the line that it replaces. For an
// insertion (i before the chunk), it is the ending of the line above, or otherwise that of the line
// below.
func (w *splicer) ending(i int) string {
	m, eol := w.m, ""
	if i >= 0 && i < len(w.file) {
		eol = m.eolAt(w.pl.start + w.file[i].end)
	} else if eol = m.eolBefore(w.pl.start); eol == "" {
		eol = m.eolAt(w.pl.start)
	}
	if eol == "" {
		eol = m.eolBefore(w.pl.end)
	}
	if eol == "" {
		eol = m.eolAt(w.pl.end)
	}
	return m.orMajority(eol)
}

func (m *matcher) orMajority(eol string) string {
	if eol != "" {
		return eol
	}
	if m.majority == "" {
		m.majority = majorityEOL(m.base)
	}
	return m.majority
}
