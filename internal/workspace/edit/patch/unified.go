package patch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// rangeHeader is "@@ -12,5 +12,6 @@ section".
var rangeHeader = lazyregexp.New(`^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@+ ?(.*)$`)

func (h *Hunk) setRange(r []string) {
	h.HasRange = true
	h.OldLine, _ = strconv.Atoi(r[1])
	h.Section = strings.TrimSpace(r[5])
}

func isUnifiedHeader(l string) bool {
	return strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "diff --git ")
}

// unifiedParser reads unified diffs, either plain or from git.
type unifiedParser struct {
	lines  []string
	at     int
	files  []File
	fenced bool // a fence was opened before the first file
}

func parseUnified(lines []string) ([]File, error) {
	p := &unifiedParser{lines: lines}
	p.fenced = anyLine(lines[:max(0, slices.IndexFunc(lines, isUnifiedHeader))], isFence)
	for p.at < len(lines) {
		var err error
		switch l := lines[p.at]; {
		case strings.HasPrefix(l, "diff --git "):
			err = p.git()
		case p.fileHeader(p.at):
			err = p.file(File{Op: Modify})
		case strings.HasPrefix(l, "@@"):
			err = fail(p.at+1, "a hunk before any \"--- a/path\" and \"+++ b/path\" lines")
		default:
			p.at++ // prose, fences, index lines
		}
		if err != nil {
			return nil, err
		}
	}
	if len(p.files) == 0 {
		return nil, fail(0, "no file header: a unified diff needs \"--- a/path\" followed by \"+++ b/path\"")
	}
	return p.files, nil
}

// fileHeader reports whether a pair of "---" and "+++" lines begins at i.
func (p *unifiedParser) fileHeader(i int) bool {
	return i+1 < len(p.lines) && strings.HasPrefix(p.lines[i], "--- ") &&
		strings.HasPrefix(p.lines[i+1], "+++ ")
}

// git reads the extended header of one file and its hunks.
func (p *unifiedParser) git() error {
	f := File{Op: Modify}
	from, to, _ := strings.Cut(strings.TrimPrefix(p.lines[p.at], "diff --git "), " b/")
	f.Path, f.NewPath = strings.TrimPrefix(from, "a/"), to
	start := p.at + 1
	mode := false
	for p.at++; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		switch {
		case p.fileHeader(p.at):
			return p.file(f)
		case strings.HasPrefix(l, "new file mode"):
			f.Op = Create
		case strings.HasPrefix(l, "deleted file mode"):
			f.Op = Delete
		case strings.HasPrefix(l, "rename from "):
			f.Op, f.Path = Rename, unquote(l[len("rename from "):])
		case strings.HasPrefix(l, "rename to "):
			f.NewPath = unquote(l[len("rename to "):])
		case strings.HasPrefix(l, "copy from "):
			return fail(p.at+1, "copies are not supported; create the file with its whole text")
		case strings.HasPrefix(l, "GIT binary patch"), strings.HasPrefix(l, "Binary files "):
			return fail(p.at+1, "binary patches are not supported")
		case strings.HasPrefix(l, "old mode "), strings.HasPrefix(l, "new mode "):
			mode = true
		case strings.HasPrefix(l, "diff --git "):
			return p.withoutHunks(f, mode, start)
		case strings.HasPrefix(l, "@@"):
			return fail(p.at+1, "a hunk without \"--- a/path\" and \"+++ b/path\" lines")
		}
	}
	return p.withoutHunks(f, mode, start)
}

func (p *unifiedParser) withoutHunks(f File, mode bool, lineNo int) error {
	if f.Op == Modify {
		if mode {
			return fail(lineNo, "changing a file's mode is not supported; use a shell command")
		}
		return fail(lineNo, "the section for %s has no hunk. Send the lines to change",
			f.Path)
	}
	if f.Op == Create {
		f.Content = []byte{}
	}
	p.push(f)
	return nil
}

func (p *unifiedParser) push(f File) {
	if f.Op != Rename {
		f.NewPath = ""
	}
	p.files = append(p.files, f)
}

// file reads the two header lines and the hunks.
func (p *unifiedParser) file(f File) error {
	old, new := headerPath(p.lines[p.at][4:]), headerPath(p.lines[p.at+1][4:])
	old, new = stripPrefixes(old, new)
	lineNo := p.at + 1
	p.at += 2
	switch {
	case old == devNull && new == devNull:
		return fail(lineNo, "both names are %s", devNull)
	case old == devNull:
		f.Op, f.Path = Create, new
	case new == devNull:
		f.Op, f.Path = Delete, old
	case f.Op == Modify && old != new:
		f.Op, f.Path, f.NewPath = Rename, old, new
	case f.Op != Rename:
		f.Path = new
	}
	for p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "@@") {
		h, err := p.hunk()
		if err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	if f.Op == Create {
		if err := f.created(lineNo); err != nil {
			return err
		}
	}
	p.push(f)
	return nil
}

const devNull = "/dev/null"

func (f *File) created(lineNo int) error {
	var lines []string
	noNewline := false
	for _, h := range f.Hunks {
		old, new := h.Sides()
		if len(old) > 0 {
			return fail(lineNo, "%s is created, but a hunk has context or removed lines",
				f.Path)
		}
		lines, noNewline = append(lines, new...), h.NoNewlineNew
	}
	f.Content, f.Hunks = contentOf(lines, noNewline), nil
	return nil
}

// hunk reads one hunk. It uses the counts in its header if they are right, and otherwise reads up
// to the next header.
func (p *unifiedParser) hunk() (Hunk, error) {
	var h Hunk
	head := p.lines[p.at]
	h.header(head)
	if h.HasRange {
		// In a unified diff, the words after the range are a comment.
		h.Scopes = nil
	}
	p.at++
	if r := rangeHeader().FindStringSubmatch(head); r != nil && p.counted(&h, r) {
		return h, nil
	}
	empties := 0
	for ; p.at < len(p.lines) && !p.boundary(p.at); p.at++ {
		if l := p.lines[p.at]; p.fenced && indentOf(l) == "" && isFence(l) {
			break // an indented fence is context
		}
		if err := h.body(p.lines[p.at], p.at+1, &empties); err != nil {
			return h, err
		}
	}
	h.trimEmpty(empties)
	if len(h.Lines) == 0 {
		return h, fail(p.at, "a hunk without lines")
	}
	return h, nil
}

func (p *unifiedParser) boundary(i int) bool {
	l := p.lines[i]
	return strings.HasPrefix(l, "@@") || strings.HasPrefix(l, "diff --git ") || p.fileHeader(i)
}

// counted reads as many lines as the header specifies, and reports whether a hunk may end there.
// Only the counts distinguish a removed "-- x" from a header.
func (p *unifiedParser) counted(h *Hunk, r []string) bool {
	old, new := countOf(r[2]), countOf(r[4])
	try := *h
	i, empties := p.at, 0
	for ; old > 0 || new > 0 || i < len(p.lines) && strings.HasPrefix(p.lines[i], `\`); i++ {
		if i == len(p.lines) || try.body(p.lines[i], i+1, &empties) != nil {
			return false
		}
		if strings.HasPrefix(p.lines[i], `\`) {
			continue
		}
		kind := try.Lines[len(try.Lines)-1].Kind
		if kind != '+' {
			old--
		}
		if kind != '-' {
			new--
		}
	}
	if old != 0 || new != 0 || len(try.Lines) == 0 {
		return false
	}
	for j := i; j < len(p.lines); j++ {
		if l := p.lines[j]; l != "" {
			if !p.boundary(j) && strings.ContainsAny(l[:1], " +-") && l != "-- " {
				return false
			}
			break
		}
	}
	*h, p.at = try, i
	return true
}

func countOf(s string) int {
	if s == "" {
		return 1
	}
	n, _ := strconv.Atoi(s)
	return n
}

// headerPath returns the path in a "---" or "+++" line, without a time stamp.
func headerPath(s string) string {
	if strings.HasPrefix(s, `"`) {
		return unquote(s)
	}
	s, _, _ = strings.Cut(s, "\t")
	return strings.TrimSpace(s)
}

// unquote decodes git's C-style quoting of unusual names.
func unquote(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return strings.TrimSpace(s)
	}
	if end := strings.LastIndexByte(s, '"'); end > 0 {
		if out, err := strconv.Unquote(s[:end+1]); err == nil {
			return out
		}
	}
	return s
}

// stripPrefixes removes git's a/ and b/ if both sides have them.
func stripPrefixes(old, new string) (string, string) {
	aOK := strings.HasPrefix(old, "a/") || old == devNull
	bOK := strings.HasPrefix(new, "b/") || new == devNull
	if aOK && bOK {
		return strings.TrimPrefix(old, "a/"), strings.TrimPrefix(new, "b/")
	}
	return old, new
}
