package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// Limits of read.
const (
	readLines = 2000     // maximum lines of a file
	readBytes = 48 << 10 // maximum bytes of a result
	readFiles = 20       // maximum number of files in one call
	// readWhole is the size of the largest file on disk that is read completely. From larger files,
	// only the requested part is read.
	readWhole = 1 << 20
)

type readArgs struct {
	Path   string   `json:"path,omitempty" jsonschema:"file or folder"`
	Paths  []string `json:"paths,omitempty" jsonschema:"several files, instead of path"`
	Offset int      `json:"offset,omitempty" jsonschema:"first line, from 1; negative: from the end"`
	Limit  int      `json:"limit,omitempty" jsonschema:"lines, at most 2000"`
}

func (e *sessionEnv) readTool() tool.Tool {
	return newTool(definition[readArgs]{
		spec: tool.Spec{
			Name: "read", Label: "Read", Effect: tool.ReadOnly, MaxResult: -1,
			Aliases: []string{"read_file", "readfile", "view", "view_file", "open_file", "cat",
				"read_many_files", "read_files"},
			ParamAliases: map[string]string{"file_path": "path", "filepath": "path", "file": "path",
				"filename": "path", "absolute_path": "path", "target_file": "path", "uri": "path",
				"files": "paths", "file_paths": "paths",
				"start_line": "offset", "line": "offset", "start": "offset", "line_start": "offset",
				"max_lines": "limit", "num_lines": "limit", "lines": "limit"},
		},
		prepare: func(call *tool.Call, a readArgs) tool.Prepared {
			files := e.resolve(call, a.all()...)
			return tool.Prepared{
				Label:     "Read " + oneLine(strings.Join(a.all(), ", "), 80),
				Locations: files.locations(a.Offset),
				Subject:   files.subject(tool.SubjectRead, "Read"),
				Reads:     files.keys(),
				Run: func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
					return e.read(ctx, call, a, files)
				},
			}
		},
	})
}

func (a readArgs) all() []string {
	if a.Path == "" {
		return a.Paths
	}
	return append([]string{a.Path}, a.Paths...)
}

func (e *sessionEnv) read(ctx context.Context, call *tool.Call, a readArgs,
	files paths) (*tool.Result, error) {
	switch {
	case len(files) == 0:
		return nil, errors.New("no path is given; send the path of a file or folder")
	case len(files) == 1:
		return e.readOne(ctx, call, files[0], a, readBytes)
	case len(files) > readFiles:
		return nil, fmt.Errorf(
			"%d files are requested; at most %d can be read in one call",
			len(files),
			readFiles,
		)
	}
	return e.readSeveral(ctx, call, files, a)
}

// readSeveral reads files one after the other. An unreadable file does not stop the others. The
// space that one file does not use is available to the next ones.
func (e *sessionEnv) readSeveral(ctx context.Context, call *tool.Call, files paths,
	a readArgs) (*tool.Result, error) {
	all := &tool.Result{}
	var b strings.Builder
	failed := 0
	for i, f := range files {
		res, err := e.readOne(ctx, call, f, a, (readBytes-b.Len())/(len(files)-i))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		fmt.Fprintf(&b, "== %s ==\n", f.path)
		if err != nil {
			failed++
			fmt.Fprintf(&b, "%v\n\n", err)
			continue
		}
		b.WriteString(res.Text + "\n\n")
		all.Content = append(all.Content, res.Content...)
		all.Locations = append(all.Locations, res.Locations...)
	}
	all.Text, all.IsError = strings.TrimSpace(b.String()), failed == len(files)
	return all, nil
}

func (e *sessionEnv) readOne(ctx context.Context, call *tool.Call, file named, a readArgs,
	room int) (*tool.Result, error) {
	if spill, ok := e.spillPath(file.path); ok {
		return e.readSpill(ctx, spill, a, room)
	}
	if file.err != nil {
		return nil, file.err
	}
	ref := file.ref
	info, err := e.Workspace.Stat(ref)
	switch {
	case err == nil && info.IsDir():
		return e.listFolder(ctx, call, ref, 1)
	case err == nil && e.streams(ref, info):
		return e.readStream(ctx, ref, a, room)
	}
	f, err := e.Workspace.ReadFor(ctx, e.owner(), ref)
	if err != nil {
		return e.notText(call, ref, err, a, room)
	}
	return e.readText(ref, f, a, room), nil
}

// streams reports whether a file is too large to be read completely. Images, open documents and
// files with undecided proposals of the session are always read completely.
func (e *sessionEnv) streams(ref workspace.Ref, info fs.FileInfo) bool {
	if info.Size() <= readWhole {
		return false
	}
	if _, _, open := e.Workspace.TextAt(ref.URI, nil); open {
		return false
	}
	return imageType(filepath.Ext(ref.Path)) == "" &&
		len(e.Workspace.Undecided(e.owner(), ref.URI)) == 0
}

// readText shows a file that was read completely, and records that the session has seen it.
func (e *sessionEnv) readText(ref workspace.Ref, f *workspace.File, a readArgs,
	room int) *tool.Result {
	v := newView(a, room)
	v.all(f.Text.Data)
	var notes []string
	if f.Source != workspace.FromDisk && f.SourceLabel() != string(workspace.FromBuffer) {
		notes = append(notes, "source: "+f.SourceLabel())
	}
	if f.Diverged {
		notes = append(
			notes,
			"The file on disk differs from this buffer; edits go to the buffer.",
		)
	}
	e.saw(f, v.whole())
	res := text("%s", v.result(notes))
	res.Meta = tool.Meta{Kind: "file", Key: fmt.Sprintf("%s:%d-%d", ref.Key, v.first, v.last),
		SHA256: f.SHA256}
	res.Locations = []tool.Location{{URI: f.Ref.URI}}
	return res
}

// saw records that the session knows a file or a part of it.
func (e *sessionEnv) saw(f *workspace.File, whole bool) {
	e.Workspace.Stamp(e.ID, f, whole)
	e.resetFailures(f.Ref)
}

// notText describes why a file cannot be read as text, or shows the file in another way.
func (e *sessionEnv) notText(call *tool.Call, ref workspace.Ref, err error, a readArgs,
	room int) (*tool.Result, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist.%s", e.shown(call, ref.Path),
			e.similar(call, ref))
	case errors.Is(err, edit.ErrBinary) || errors.Is(err, edit.ErrEncoding):
		raw, _, rawErr := e.Workspace.ReadDiskRaw(ref)
		if rawErr != nil {
			return nil, rawErr
		}
		return e.readRaw(call, ref, raw, a, room)
	}
	return nil, err
}

// readRaw shows an image as an image, and text in an unknown encoding as well as possible. It
// refuses everything else.
func (e *sessionEnv) readRaw(call *tool.Call, ref workspace.Ref, raw []byte, a readArgs,
	room int) (*tool.Result, error) {
	name := e.shown(call, ref.Path)
	if kind := sniffImage(raw); kind != "" {
		return imageResult(name, ref.URI, kind, raw)
	}
	if bytes.IndexByte(raw, 0) >= 0 {
		return nil, binaryError(name, len(raw))
	}
	v := newView(a, room)
	v.all(bytes.ToValidUTF8(raw, []byte("\ufffd")))
	return text(
		"%s",
		v.result(
			[]string{
				"The file is not valid UTF-8; bytes that could not be read are shown as \ufffd. The edit tools refuse it.",
			},
		),
	), nil
}

func binaryError(name string, size int) error {
	return fmt.Errorf(
		"%s is a binary file (%s) and cannot be shown as text. If you need its content, use bash with a program that can read it (file, strings, xxd)",
		name,
		plural(size, "byte"),
	)
}

// similar names up to three files with similar names in the folder of a missing file.
func (e *sessionEnv) similar(call *tool.Call, ref workspace.Ref) string {
	dir, err := e.Workspace.Resolve(call.Cwd, filepath.Dir(ref.Path))
	if err != nil {
		return ""
	}
	entries, err := e.Workspace.ReadDir(dir)
	if err != nil {
		return " Its folder does not exist either. Use glob to find files by name."
	}
	var names []string
	want := strings.ToLower(filepath.Base(ref.Path))
	for _, d := range entries {
		if alike(want, strings.ToLower(d.Name())) && len(names) < 3 {
			names = append(names, e.shown(call, filepath.Join(dir.Path, d.Name())))
		}
	}
	if len(names) == 0 {
		return " Use glob to find it."
	}
	return " Did you mean " + strings.Join(names, " or ") + "?"
}

// alike reports whether two names are similar. Both are in lowercase. They are similar if they
// differ only in their extension, or if one stem contains the other and both have at least three
// bytes.
func alike(a, b string) bool {
	stem := func(s string) string { return strings.TrimSuffix(s, filepath.Ext(s)) }
	x, y := stem(a), stem(b)
	if x == "" || y == "" {
		return a == b
	}
	if len(x) < 3 || len(y) < 3 {
		return x == y
	}
	return strings.Contains(x, y) || strings.Contains(y, x)
}

// view selects the lines that a read shows.
type view struct {
	want, limit int // first line and number of lines
	room        int // bytes
	out         strings.Builder
	first, last int // shown; 0: none
	total       int // lines; -1: not counted
	cut         bool
	cutLines    bool
	noEnd       bool // the text does not end with a line break
}

func newView(a readArgs, room int) *view {
	v := &view{want: a.Offset, limit: a.Limit, room: max(room, 512)}
	if v.want == 0 {
		v.want = 1
	}
	if v.limit <= 0 || v.limit > readLines {
		v.limit = readLines
	}
	return v
}

// all shows the requested part of a complete text.
func (v *view) all(text []byte) {
	v.total = countLines(text)
	v.noEnd = len(text) > 0 && text[len(text)-1] != '\n' && text[len(text)-1] != '\r'
	if v.want < 0 {
		v.want = max(1, v.total+v.want+1)
	}
	n := 1
	for ; n < v.want && len(text) > 0; n++ {
		_, text = cutLine(text)
	}
	for len(text) > 0 {
		var line []byte
		if line, text = cutLine(text); !v.add(n, line) {
			return
		}
		n++
	}
}

// add shows a line. It returns false when the view is full.
func (v *view) add(n int, line []byte) bool {
	if v.first > 0 && n >= v.first+v.limit {
		return false
	}
	s := string(line[:min(len(line), maxLine+4)])
	if len(line) > maxLine {
		s = cutRune(s, maxLine) + "... [line cut]"
		v.cutLines = true
	}
	s = strconv.Itoa(n) + "\t" + s + "\n"
	if v.out.Len()+len(s) > v.room && v.first > 0 {
		v.cut = true
		return false
	}
	v.out.WriteString(s)
	if v.first == 0 {
		v.first = n
	}
	v.last = n
	return true
}

// whole reports whether every byte of the text was shown.
func (v *view) whole() bool { return v.total == v.last && v.first <= 1 && !v.cutLines }

func (v *view) result(notes []string) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString("[" + n + "]\n")
	}
	switch {
	case v.total == 0:
		b.WriteString("[The file is empty.]")
	case v.first == 0:
		fmt.Fprintf(&b, "[Offset %d is beyond the end: the file has %s.]", v.want,
			plural(v.total, "line"))
	default:
		b.WriteString(v.out.String())
		b.WriteString(v.footer())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (v *view) footer() string {
	s := ""
	switch {
	case v.total < 0:
		s = fmt.Sprintf(
			"[Lines %d-%d; more follow. Use offset=%d to continue, or grep to search.]\n",
			v.first,
			v.last,
			v.last+1,
		)
	case v.last < v.total:
		s = fmt.Sprintf(
			"[Lines %d-%d of %d. Use offset=%d to continue.]\n",
			v.first,
			v.last,
			v.total,
			v.last+1,
		)
	case v.first > 1:
		s = fmt.Sprintf("[Lines %d-%d of %d: the end of the file.]\n", v.first, v.last, v.total)
	}
	if v.noEnd && v.last == v.total {
		s += "[No line break at the end of the file.]\n"
	}
	return s
}

// cutLine splits off the first line. A line ends at LF, CRLF or CR.
func cutLine(text []byte) (line, rest []byte) {
	i := bytes.IndexByte(text, '\n')
	if cr := bytes.IndexByte(text[:max(i, 0)], '\r'); i >= 0 && (cr < 0 || cr == i-1) {
		return bytes.TrimSuffix(text[:i], []byte{'\r'}), text[i+1:]
	}
	i = bytes.IndexAny(text, "\r\n")
	switch {
	case i < 0:
		return text, nil
	case text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n':
		return text[:i], text[i+2:]
	}
	return text[:i], text[i+1:]
}

func countLines(text []byte) int {
	n := bytes.Count(text, []byte{'\n'}) +
		bytes.Count(text, []byte{'\r'}) - bytes.Count(text, []byte("\r\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' && text[len(text)-1] != '\r' {
		n++
	}
	return n
}
