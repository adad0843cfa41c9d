package edittest

import "strings"

// Noise describes how a model's text differs from the correct one.
type Noise struct {
	Context   int  // number of unchanged lines shown before and after each change
	CRLF      bool // the call's text has CRLF line endings
	Fence     bool // the call's text, or each search text, is in a Markdown fence
	Prose     bool // a patch is preceded and followed by prose
	Trimmed   bool // trailing white space is omitted
	ASCII     bool // typographic quotes and dashes are written as ASCII
	Outdented bool // each block of lines is moved to the left margin
	Spaces    int  // each tab is written as this many spaces; 0: tabs are kept
	Numbers   bool // search texts contain line numbers, as in a listing
	Ended     bool // search and replacement end with a line ending
	BareBlank bool // the leading space of an empty context line is omitted
	Stale     bool // one of the shown lines differs from the file's line
	Gap       bool // a line in the middle of the shown text is missing

	Header    Header
	NoEOLMark bool // "\ No newline at end of file" is missing
	NoEscape  bool // lines that look like markers are not escaped
	Decorated int  // decoration of the file name: an index into decorations
	NameOnce  bool // only the first block has the file name
	EndMark   bool // a hunk at the end of the file has the line "*** End of File"
}

// Header describes the errors in hunk headers.
type Header struct {
	Offset      int  // value that is added to the line numbers
	WrongCounts bool // the counts are wrong
	NoRange     bool // line numbers are missing
}

// Doomed reports whether the noise makes words in the call differ from the file, so that the call
// must be refused.
func (n Noise) Doomed() bool { return n.Stale || n.Gap }

// RandomNoise chooses up to three kinds of noise.
func RandomNoise(choose Choose) Noise {
	n := Noise{Context: choose(4)}
	for range choose(4) {
		n.draw(choose)
	}
	return n
}

func (n *Noise) draw(choose Choose) {
	switch choose(19) {
	case 0:
		n.CRLF = true
	case 1:
		n.Fence = true
	case 2:
		n.Prose = true
	case 3, 4:
		n.Trimmed = true
	case 5, 6:
		n.ASCII = true
	case 7, 8:
		n.Outdented = true
	case 9:
		n.Spaces = []int{2, 4, 8}[choose(3)]
	case 10:
		n.Numbers = true
	case 11:
		n.Ended = true
	case 12:
		n.BareBlank = true
	case 13:
		n.Stale = choose(2) == 0
		n.Gap = !n.Stale
	case 14:
		n.Header.Offset = choose(21) - 10
	case 15:
		n.Header.WrongCounts = true
	case 16:
		n.Header.NoRange = true
	case 17:
		n.NoEOLMark, n.NoEscape = choose(2) == 0, choose(2) == 0
	case 18:
		n.Decorated, n.NameOnce, n.EndMark = choose(
			len(decorations),
		), choose(
			2,
		) == 0, choose(
			2,
		) == 0
	}
}

// Fit changes the file of an intent so that it contains nothing that the noise hides from the
// model, such as trailing white space in the lines that a change replaces.
func (n Noise) Fit(in Intent) Intent {
	lines := append([]string(nil), in.Lines...)
	for _, c := range in.Changes {
		for i := c.From; i < c.To && (n.Trimmed || n.loose()); i++ {
			lines[i] = strings.TrimRight(lines[i], " \t")
		}
	}
	for i, l := range lines {
		if n.loose() && blank(l) {
			lines[i] = ""
		}
	}
	if n.Spaces > 0 { // make the file indented with tabs only
		for i, l := range lines {
			lines[i] = byTabs(l)
		}
	}
	in.Lines, in.Changes = lines, append([]Change(nil), in.Changes...)
	for i, c := range in.Changes {
		in.Changes[i].New = n.fitNew(lines[c.From:c.To], c.New)
	}
	in.settleEnd()
	return in
}

// fitNew limits new lines to those that the model's text can express. They have no trailing white
// space. They contain typographic characters only if they are old lines with one word changed.
func (n Noise) fitNew(old, lines []string) []string {
	out := append([]string(nil), lines...)
	for i, l := range out {
		if n.Trimmed || n.loose() {
			l = strings.TrimRight(l, " \t")
		}
		if n.ASCII && (i >= len(old) || len(old) != len(out) || l != tweak(old[i])) {
			l = strings.NewReplacer(`"`, "", "'", "", " - ", " ").
				Replace(ascii.Replace(l))
			// Otherwise, the new line could equal a line that is shown in ASCII.
		}
		if n.loose() && blank(l) {
			l = ""
		}
		if n.Spaces > 0 {
			l = byTabs(l)
		}
		out[i] = l
	}
	return out
}

var ascii = strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'", "–", "-", "\u00a0", " ")

// loose reports whether the shown text differs from the file in white space or punctuation. In that
// case, a line of only white space counts as an empty line.
func (n Noise) loose() bool { return n.Outdented || n.ASCII || n.Spaces > 0 || n.Numbers }

func byTabs(l string) string {
	if blank(l) {
		return ""
	}
	return strings.ReplaceAll(indentOf(l), " ", "") + strings.TrimLeft(l, " \t")
}

func indentOf(l string) string { return l[:len(l)-len(strings.TrimLeft(l, " \t"))] }

func blank(l string) bool { return strings.TrimSpace(l) == "" }

// common returns the indentation that all lines have in common.
func common(blocks ...[]string) string {
	out, first := "", true
	for _, lines := range blocks {
		for _, l := range lines {
			in := indentOf(l)
			switch {
			case blank(l):
			case first:
				out, first = in, false
			default:
				for !strings.HasPrefix(in, out) {
					out = out[:len(out)-1]
				}
			}
		}
	}
	return out
}

// apply rewrites lines as the model writes them. margin is the indentation that the model omits.
func (n Noise) apply(lines []string, margin string, shown bool) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if n.Outdented {
			l = strings.TrimPrefix(l, margin)
		}
		if n.Spaces > 0 {
			body := strings.TrimLeft(l, "\t")
			l = strings.Repeat(" ", n.Spaces*(len(l)-len(body))) + body
		}
		if n.ASCII {
			l = ascii.Replace(l)
		}
		if n.Trimmed && shown {
			l = strings.TrimRight(l, " \t")
		}
		out[i] = l
	}
	return out
}
