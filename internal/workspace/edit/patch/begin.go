package patch

import (
	"slices"
	"strings"
)

const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File:"
	updateFile = "*** Update File:"
	deleteFile = "*** Delete File:"
	moveTo     = "*** Move to:"
	EndOfFile  = "*** End of File"
)

func isBeginFormat(l string) bool {
	t := strings.TrimSpace(l)
	return t == beginPatch || isFileHeader(t)
}

func isFileHeader(l string) bool {
	return strings.HasPrefix(l, addFile) || strings.HasPrefix(l, updateFile) ||
		strings.HasPrefix(l, deleteFile)
}

// beginParser reads the "*** Begin Patch" format.
type beginParser struct {
	lines  []string
	at     int
	files  []File
	indent string // indent of the first file header; all headers have the same
}

// parseBegin reads a patch in the "*** Begin Patch" format and skips the text around it. If the end
// marker is missing, the patch was cut off, and the part that arrived must not be applied alone.
func parseBegin(lines []string) ([]File, error) {
	p := &beginParser{lines: outdented(lines)}
	lines = p.lines
	for p.at < len(lines) && !isBeginFormat(lines[p.at]) {
		p.at++
	}
	if i := slices.IndexFunc(lines,
		func(l string) bool { return isFileHeader(strings.TrimSpace(l)) }); i >= 0 {
		p.indent = indentOf(lines[i])
	}
	ended := false
	for p.at < len(lines) {
		l := lines[p.at]
		var err error
		switch t := strings.TrimSpace(l); {
		case t == endPatch && ended:
			return nil, fail(p.at+1,
				"the patch ends twice, so it is unclear what belongs to it. Send it with one %q line", endPatch)
		case t == endPatch:
			ended = true
			p.at++
		case t == beginPatch:
			ended = false
			p.at++
		case ended, t == "":
			p.at++
		case strings.HasPrefix(t, addFile):
			err = p.add()
		case strings.HasPrefix(t, deleteFile):
			p.files = append(p.files, File{Op: Delete, Path: p.header(deleteFile)})
		case strings.HasPrefix(t, updateFile):
			err = p.update()
		default:
			err = fail(p.at+1, "%q is not a file header; expected %q, %q, %q or %q", shown(l),
				addFile, updateFile, deleteFile, endPatch)
		}
		if err != nil {
			return nil, err
		}
	}
	if !ended {
		return nil, fail(len(lines),
			"the patch has no %q line, so it may be cut off; send it whole", endPatch)
	}
	return p.files, nil
}

// outdented returns a patch without the indent that all of its lines have in common, if "*** Begin
// Patch" is indented.
func outdented(lines []string) []string {
	begin := slices.IndexFunc(lines,
		func(l string) bool { return strings.TrimSpace(l) == beginPatch })
	if begin < 0 || indentOf(lines[begin]) == "" {
		return lines
	}
	indent := indentOf(lines[begin])
	out := slices.Clone(lines)
	for i := begin; i < len(lines); i++ {
		rest, ok := strings.CutPrefix(lines[i], indent)
		if !ok && strings.TrimSpace(lines[i]) != "" {
			return lines
		}
		if out[i] = rest; strings.TrimSpace(rest) == endPatch {
			return out
		}
	}
	return out
}

func (p *beginParser) header(prefix string) string {
	path := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(p.lines[p.at]), prefix))
	p.at++
	return path
}

// section reports whether a file's lines end here. A header that is indented further than the first
// one is a line of context.
func (p *beginParser) section() bool {
	if p.at >= len(p.lines) {
		return true
	}
	l := p.lines[p.at]
	return p.marker(l) && (isBeginFormat(l) || strings.TrimSpace(l) == endPatch)
}

// marker reports whether a line is indented like the markers. Other lines belong to the text of the
// file.
func (p *beginParser) marker(l string) bool {
	return indentOf(l) == "" || indentOf(l) == p.indent
}

func (p *beginParser) add() error {
	f := File{Op: Create, Path: p.header(addFile)}
	var lines []string
	for ; !p.section(); p.at++ {
		l := p.lines[p.at]
		if text, ok := strings.CutPrefix(l, "+"); ok {
			lines = append(lines, text)
		} else if strings.TrimSpace(l) != "" {
			return fail(p.at+1, "%q: every line of an added file begins with \"+\"", shown(l))
		}
	}
	f.Content = contentOf(lines, false)
	p.files = append(p.files, f)
	return nil
}

func (p *beginParser) update() error {
	f := File{Op: Modify, Path: p.header(updateFile)}
	if p.at < len(p.lines) && strings.HasPrefix(strings.TrimSpace(p.lines[p.at]), moveTo) {
		f.Op, f.NewPath = Rename, p.header(moveTo)
	}
	for !p.section() {
		h, err := p.hunk()
		if err != nil {
			return err
		}
		if len(h.Lines) > 0 {
			f.Hunks = append(f.Hunks, h)
		} else if len(h.Scopes) > 0 {
			return fail(p.at, "the hunk after \"@@ %s\" has no lines", shown(h.Scopes[0]))
		}
	}
	p.files = append(p.files, f)
	return nil
}

func (p *beginParser) hunk() (Hunk, error) {
	var h Hunk
	empties := 0
	for ; !p.section(); p.at++ {
		l := p.lines[p.at]
		switch {
		case strings.HasPrefix(l, "@@"):
			if len(h.Lines) > 0 {
				h.trimEmpty(empties)
				return h, nil
			}
			h.header(l)
		case p.marker(l) && strings.TrimSpace(l) == EndOfFile:
			h.AtEOF = true
			p.at++
			h.trimEmpty(empties)
			return h, nil
		default:
			if err := h.body(l, p.at+1, &empties); err != nil {
				return h, err
			}
		}
	}
	h.trimEmpty(empties)
	return h, nil
}

// header parses one "@@" line: a unified range, or the name of a scope.
func (h *Hunk) header(l string) {
	if r := rangeHeader().FindStringSubmatch(l); r != nil {
		h.setRange(r)
		return
	}
	if scope := strings.TrimPrefix(strings.TrimSuffix(strings.TrimRight(l[2:], " \t"), "@@"),
		" "); strings.Trim(scope, " \t.") != "" {
		h.Scopes = append(h.Scopes, strings.TrimRight(scope, " \t"))
	}
}

// body parses one line of a hunk. An empty line is context that lost its leading space.
func (h *Hunk) body(l string, lineNo int, empties *int) error {
	if l == "" {
		h.Lines = append(h.Lines, Line{' ', ""})
		*empties++
		return nil
	}
	*empties = 0
	switch l[0] {
	case ' ', '+', '-':
		h.Lines = append(h.Lines, Line{l[0], l[1:]})
	case '\\':
		h.noNewline()
	default:
		return fail(lineNo,
			"%q does not begin with \" \", \"+\", \"-\" or \"@@\". Start each context line with a space, and send no other text after the patch", shown(l))
	}
	return nil
}

// noNewline applies "\ No newline at end of file" to the line before it.
func (h *Hunk) noNewline() {
	if len(h.Lines) == 0 {
		return
	}
	kind := h.Lines[len(h.Lines)-1].Kind
	h.AtEOF = true
	h.NoNewlineOld = h.NoNewlineOld || kind != '+'
	h.NoNewlineNew = h.NoNewlineNew || kind != '-'
}
