// Package patch reads the patches that models send: the "*** Begin Patch" format (begin.go),
// unified diffs (unified.go) and SEARCH/REPLACE blocks (blocks.go), with the deviations that models
// produce.
//
// The package does not know the file's text or where a hunk belongs. edit.MatchPatch places the
// hunks of a File.
package patch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/clip"
)

// The operations of a File.
const (
	Modify = "modify"
	Create = "create"
	Delete = "delete"
	Rename = "rename"
)

// File contains the changes of a patch to one file. Paths are unchecked, as written in the patch.
// The caller must confine them to the workspace and check whether the files exist.
type File struct {
	Op            string
	Path, NewPath string // NewPath is set only for Rename
	Content       []byte // the text of a created file, with LF line endings
	Blocks        []Block
	Hunks         []Hunk
}

// Block is a SEARCH/REPLACE block: complete lines of the file and their replacement.
type Block struct {
	Search, Replace string
	Line            int // 1-based line at which the patch says that Search begins, or 0
}

// Hunk is one changed region.
type Hunk struct {
	Scopes   []string // lines named by "@@", outermost first; the hunk is after them
	Section  string   // heading after a unified header; used only to distinguish equal locations
	HasRange bool     // OldLine comes from a header
	// OldLine is the 1-based first line, as a hint. For a pure insertion, it is the line before the
	// insertion.
	OldLine int
	Lines   []Line
	AtEOF   bool // the hunk ends at the end of the file

	NoNewlineOld, NoNewlineNew bool // "\ No newline at end of file"
}

// Line is one line of a hunk. Kind is ' ', '-' or '+'.
type Line struct {
	Kind byte
	Text string
}

// Parse reads the "*** Begin Patch" format, a unified diff, or SEARCH/REPLACE blocks. Fences and
// prose may surround them. Every error is an *Error. A patch that seems to be cut off is refused.
func Parse(text string) ([]File, error) { return parse(text, "") }

// ParseFor reads a patch that is given together with the path of a file. The parts that name no
// file belong to that file. These are SEARCH/REPLACE blocks, including those of Cline and Roo Code,
// and "@@" hunks without a header. A patch that names its files is refused if the given file is not
// among them.
func ParseFor(path, text string) ([]File, error) {
	files, err := parse(text, path)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(files, func(f File) bool { return sameFile(f.Path, path) }) {
		return nil, fail(0, "the call names the file %s, the patch changes %s. Send the path of one file, or the patch alone", path, files[0].Path)
	}
	if len(files) == 1 {
		files[0].Path = path
	}
	return files, nil
}

// sameFile reports whether two paths can mean the same file. They can if they are equal, or if one
// lacks only leading folders of the other.
func sameFile(a, b string) bool {
	a, b = filepath.ToSlash(filepath.Clean(a)), filepath.ToSlash(filepath.Clean(b))
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

func parse(text, path string) ([]File, error) {
	lines := strings.Split(strings.TrimPrefix(lf(text), "\ufeff"), "\n")
	var files []File
	var err error
	switch first := slices.IndexFunc(lines, beginsFormat); {
	case strings.TrimSpace(text) == "":
		return nil, fail(0, "the patch is empty")
	case first >= 0 && isBeginFormat(lines[first]):
		files, err = parseBegin(lines)
	case first >= 0 && isSearchMarker(lines[first]):
		files, err = parseBlocks(lines, path)
	case anyLine(lines, isUnifiedHeader):
		files, err = parseUnified(lines)
	case path != "" && anyLine(lines, rangeHeader().MatchString):
		files, err = parseUnified(append([]string{"--- " + path, "+++ " + path}, lines...))
	default:
		return nil, fail(0, `no patch found: send "*** Begin Patch" ... "*** End Patch" or a unified diff with "--- a/path" and "+++ b/path" lines`)
	}
	if err != nil {
		return nil, err
	}
	return joinFiles(files)
}

// beginsFormat reports whether a line can only be the first marker of a format. The first such line
// in a patch decides its format, because the text that the patch changes may contain the markers of
// the other formats.
func beginsFormat(l string) bool {
	return isBeginFormat(l) || isSearchMarker(l) || isUnifiedHeader(l)
}

// Error explains to the model why its text is not a valid patch, and what to send instead.
type Error struct{ Msg string }

func (e *Error) Error() string { return e.Msg }

func fail(line int, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if line > 0 {
		msg = fmt.Sprintf("line %d of the patch: %s", line, msg)
	}
	return &Error{Msg: msg + ". Nothing was changed."}
}

func anyLine(lines []string, f func(string) bool) bool {
	for _, l := range lines {
		if f(l) {
			return true
		}
	}
	return false
}

// joinFiles combines the hunks of sections for the same file, because all of them are matched
// against the same text. It refuses contradictory operations.
func joinFiles(files []File) ([]File, error) {
	if len(files) == 0 {
		return nil, fail(0, "the patch does not name a file")
	}
	var out []File
	index := map[string]int{}
	for _, f := range files {
		if strings.TrimSpace(f.Path) == "" || f.Op == Rename &&
			strings.TrimSpace(f.NewPath) == "" {
			return nil, fail(0, "a file header does not name a path")
		}
		k, ok := index[f.Path]
		if ok && (f.Op != Modify || out[k].Op != Modify && out[k].Op != Rename) {
			return nil, fail(0, "%s is named twice, to %s and to %s", f.Path, out[k].Op, f.Op)
		}
		if ok {
			out[k].Hunks, out[k].Blocks = append(out[k].Hunks, f.Hunks...),
				append(out[k].Blocks, f.Blocks...)
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

func (f *File) check(index map[string]int) error {
	if f.Op == Modify && len(f.Hunks) == 0 && len(f.Blocks) == 0 {
		return fail(0, "the section for %s has no hunk. Send the lines to change", f.Path)
	}
	if f.Op != Rename {
		return nil
	}
	if f.Path == f.NewPath {
		return fail(0, "%s is moved to itself", f.Path)
	}
	if _, ok := index[f.NewPath]; ok {
		return fail(0, "%s is both the target of a move and changed itself", f.NewPath)
	}
	return nil
}

// Sides returns the lines that the hunk expects and the lines that replace them.
func (h *Hunk) Sides() (old, new []string) {
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

// Added returns the lines that the hunk adds.
func (h *Hunk) Added() (lines []string) {
	for _, l := range h.Lines {
		if l.Kind == '+' {
			lines = append(lines, l.Text)
		}
	}
	return lines
}

// Changes reports whether the hunk adds or removes a line.
func (h *Hunk) Changes() bool {
	for _, l := range h.Lines {
		if l.Kind != ' ' {
			return true
		}
	}
	return false
}

// trimEmpty drops the empty lines at a hunk's end that are not marked as context, because they
// separate sections.
func (h *Hunk) trimEmpty(empties int) {
	h.Lines = h.Lines[:len(h.Lines)-empties]
}

func isFence(l string) bool {
	t := strings.TrimSpace(l)
	return strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~")
}

// contentOf joins added lines to form a file's text.
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

// lf returns the text with every line ending written as LF.
func lf(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// shown returns a line of the patch, shortened for a message.
func shown(line string) string { return clip.Counted(line, 240) }
