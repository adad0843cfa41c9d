package edit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// The operations of a FilePatch.
const (
	OpModify = "modify"
	OpCreate = "create"
	OpDelete = "delete"
	OpRename = "rename"
)

// FilePatch is what a patch does to one file. Paths are as written, not
// checked: confining them to the workspace is the caller's part, as is whether
// the files exist.
type FilePatch struct {
	Op            string
	Path, NewPath string // NewPath only for OpRename
	Content       []byte // the text of a created file, LF
	Edits         []Replace
	Hunks         []PatchHunk
}

// PatchHunk is one changed place.
type PatchHunk struct {
	Scopes   []string // lines named by "@@", outermost first: the hunk is after them
	Section  string   // heading behind a unified header; used only to tell equal places apart
	HasRange bool     // OldLine comes from a header
	// 1-based first line, a hint; before a pure insertion the line that it follows
	OldLine int
	Lines   []PatchLine
	AtEOF   bool // the hunk ends at the end of the file

	NoNewlineOld, NoNewlineNew bool // "\ No newline at end of file"
}

// PatchLine is one line of a hunk: Kind is ' ', '-' or '+'.
type PatchLine struct {
	Kind byte
	Text string
}

// ParsePatch reads the "*** Begin Patch" format, a unified diff, or
// SEARCH/REPLACE blocks, around which fences and prose may stand. Every error
// is a *MatchError of KindPatch. A patch that seems cut off is refused.
func ParsePatch(text string) ([]FilePatch, error) { return parsePatch(text, "") }

// ParseFilePatch reads a patch that is given together with the path of a file. What names no
// file is for that one: SEARCH/REPLACE blocks, among them those of Cline and Roo Code, and "@@"
// hunks without a header. A patch that names its files is refused if that one is not among
// them.
func ParseFilePatch(path, text string) ([]FilePatch, error) {
	files, err := parsePatch(text, path)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(files, func(f FilePatch) bool { return sameFile(f.Path, path) }) {
		return nil, patchError(0, "the call names the file %s, the patch changes %s. Send the path of one file, or the patch alone", path, files[0].Path)
	}
	if len(files) == 1 {
		files[0].Path = path
	}
	return files, nil
}

// sameFile reports whether two paths can mean one file: one may leave out folders before the
// other.
func sameFile(a, b string) bool {
	a, b = filepath.ToSlash(filepath.Clean(a)), filepath.ToSlash(filepath.Clean(b))
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

func parsePatch(text, path string) ([]FilePatch, error) {
	lines := strings.Split(strings.TrimPrefix(toLF(text), "\ufeff"), "\n")
	var files []FilePatch
	var err error
	switch first := slices.IndexFunc(lines, beginsFormat); {
	case strings.TrimSpace(text) == "":
		return nil, patchError(0, "the patch is empty")
	case first >= 0 && isBeginFormat(lines[first]):
		files, err = parseBegin(lines)
	case first >= 0 && isSearchMarker(lines[first]):
		files, err = parseBlocks(lines, path)
	case anyLine(lines, isUnifiedHeader):
		files, err = parseUnified(lines)
	case path != "" && anyLine(lines, rangeHeader().MatchString):
		files, err = parseUnified(append([]string{"--- " + path, "+++ " + path}, lines...))
	default:
		return nil, patchError(0, `no patch found: send "*** Begin Patch" ... "*** End Patch" or a unified diff with "--- a/path" and "+++ b/path" lines`)
	}
	if err != nil {
		return nil, err
	}
	return joinFiles(files)
}

// beginsFormat reports whether a line can only be the first marker of a format. The first such
// line of a patch decides its format: the text that the patch changes may contain the markers
// of the others.
func beginsFormat(l string) bool {
	return isBeginFormat(l) || isSearchMarker(l) || isUnifiedHeader(l)
}

func patchError(line int, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if line > 0 {
		msg = fmt.Sprintf("line %d of the patch: %s", line, msg)
	}
	return &MatchError{Kind: KindPatch, Edit: -1, Msg: msg + ". Nothing was changed."}
}

func anyLine(lines []string, f func(string) bool) bool {
	for _, l := range lines {
		if f(l) {
			return true
		}
	}
	return false
}

// joinFiles puts the hunks of sections for the same file together, because all
// are matched against the same text, and refuses operations that exclude each other.
func joinFiles(files []FilePatch) ([]FilePatch, error) {
	if len(files) == 0 {
		return nil, patchError(0, "the patch names no file")
	}
	var out []FilePatch
	index := map[string]int{}
	for _, f := range files {
		if strings.TrimSpace(f.Path) == "" || f.Op == OpRename &&
			strings.TrimSpace(f.NewPath) == "" {
			return nil, patchError(0, "a file header names no path")
		}
		k, ok := index[f.Path]
		if ok && (f.Op != OpModify || out[k].Op != OpModify && out[k].Op != OpRename) {
			return nil, patchError(0, "%s is named twice, to %s and to %s", f.Path, out[k].Op, f.Op)
		}
		if ok {
			out[k].Hunks, out[k].Edits = append(out[k].Hunks, f.Hunks...),
				append(out[k].Edits, f.Edits...)
			continue
		}
		index[f.Path] = len(out)
		out = append(out, f)
	}
	for _, f := range out {
		if err := f.check(index); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (f *FilePatch) check(index map[string]int) error {
	if f.Op == OpModify && len(f.Hunks) == 0 && len(f.Edits) == 0 {
		return patchError(0, "the section for %s has no hunk. Send the lines to change", f.Path)
	}
	if f.Op != OpRename {
		return nil
	}
	if f.Path == f.NewPath {
		return patchError(0, "%s is moved to itself", f.Path)
	}
	if _, ok := index[f.NewPath]; ok {
		return patchError(0, "%s is both the target of a move and changed itself", f.NewPath)
	}
	return nil
}

// old and new are the two sides of a hunk.
func (h *PatchHunk) sides() (old, new []string) {
	for _, l := range h.Lines {
		if l.Kind != '+' {
			old = append(old, l.Text)
		}
		if l.Kind != '-' {
			new = append(new, l.Text)
		}
	}
	return old, new
}

// added are the lines that the hunk adds.
func (h *PatchHunk) added() (lines []string) {
	for _, l := range h.Lines {
		if l.Kind == '+' {
			lines = append(lines, l.Text)
		}
	}
	return lines
}

// leavesTrace reports whether the outcome of the hunk proves that it was applied: it adds
// lines, or the lines that it removes were between others.
func (h *PatchHunk) leavesTrace() bool {
	old, _ := h.sides()
	fresh := slices.DeleteFunc(h.added(), func(l string) bool { return slices.Contains(old, l) })
	return telling(fresh) || h.Lines[0].Kind == ' ' && h.Lines[len(h.Lines)-1].Kind == ' '
}

func (h *PatchHunk) changes() bool {
	for _, l := range h.Lines {
		if l.Kind != ' ' {
			return true
		}
	}
	return false
}

// trimEmpty drops the empty lines at a hunk's end that are not marked as context: they separate
// sections.
func (h *PatchHunk) trimEmpty(empties int) {
	h.Lines = h.Lines[:len(h.Lines)-empties]
}

func isFence(l string) bool {
	t := strings.TrimSpace(l)
	return strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~")
}

// contentOf joins added lines to a file's text.
func contentOf(lines []string, noNewline bool) []byte {
	if len(lines) == 0 {
		return []byte{}
	}
	s := strings.Join(lines, "\n")
	if !noNewline {
		s += "\n"
	}
	return []byte(s)
}
