package langserver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// Limits of one result.
const (
	maxPlaces = 100
	maxLine   = 200
	maxHover  = 8 << 10
)

// render formats answers for the model: paths relative to the session's folder, or absolute outside
// it, 1-based lines and columns in characters, and the source line as the editor shows it.
type render struct {
	h     *Hub
	ctx   context.Context
	cwd   string
	files map[string]*source
}

type source struct {
	file   *workspace.File
	index  *text.LineIndex
	path   string
	secret bool // reading the file needs a permission that was not requested
}

// source reads each file once per result. It does not read secret files, because an answer can name
// files that the user was not asked about.
func (r *render) source(uri string) *source {
	if s := r.files[uri]; s != nil {
		return s
	}
	path, s := pathOfURI(uri), &source{}
	s.path = filepath.ToSlash(path)
	ref, err := r.h.opt.Workspace.Resolve(r.cwd, uri)
	if err == nil {
		s.path, path = r.shown(ref), ref.Path
	}
	s.secret = (err != nil || ref.Key != NamedFile(r.ctx).Key) && r.isSecret(path)
	if err == nil && !s.secret {
		if f, err := r.h.opt.Workspace.Read(r.ctx, ref); err == nil {
			s.file, s.index = f, text.NewLineIndex(f.Text.Data)
		}
	}
	if r.files == nil {
		r.files = map[string]*source{}
	}
	r.files[uri] = s
	return s
}

func (r *render) isSecret(path string) bool {
	o := &r.h.opt
	c, known := r.ctx.Value(callKey{}).(calling)
	return path != "" && (o.Secret != nil && o.Secret(path) || known && o.Withheld != nil &&
		o.Withheld(c.session, "lsp", c.named.Path, path))
}

// quoted returns a text of a server about a file, unless the file is secret. Such a text often
// quotes the file.
func (r *render) quoted(uri, text string) string {
	if r.source(uri).secret {
		return "(not shown: reading this file needs the user's permission)"
	}
	return text
}

func (r *render) read(uri string) *workspace.File { return r.source(uri).file }

func (r *render) path(uri string) string { return r.source(uri).path }

func (r *render) shown(ref workspace.Ref) string {
	cwd, err := r.h.opt.Workspace.Cwd(r.cwd)
	if err != nil || cwd == "" || !ref.IsFile() {
		return ref.Rel
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	if !within(cwd, ref.Path) {
		return filepath.ToSlash(ref.Path)
	}
	rel, _ := filepath.Rel(cwd, ref.Path)
	return filepath.ToSlash(rel)
}

// at returns "path:line:column" and the text of the line. The text is "" outside the workspace and
// in secret files.
func (r *render) at(uri string, p workspace.Position, enc workspace.Encoding) (where, line string) {
	s := r.source(uri)
	if s.file == nil {
		return fmt.Sprintf("%s:%d:%d", s.path, p.Line+1, p.Character+1), ""
	}
	text := s.file.Text.Data
	if int(p.Line) >= s.index.Lines() {
		return fmt.Sprintf("%s:%d", s.path, p.Line+1), "(past the end of the text as it is now)"
	}
	start := s.index.Offset(text, workspace.Position{Line: p.Line}, enc)
	end := s.index.Offset(text, workspace.Position{Line: p.Line, Character: 1<<31 - 1}, enc)
	at := s.index.Offset(text, p, enc)
	return fmt.Sprintf("%s:%d:%d", s.path, p.Line+1, utf8.RuneCount(text[start:at])+1),
		shown(string(text[start:end]))
}

func shown(line string) string { return clip.Bytes(strings.TrimSpace(line), maxLine) }

// places formats locations with their source lines.
func (r *render) places(list []location, enc workspace.Encoding) string {
	var b strings.Builder
	seen := map[string]bool{}
	shown := 0
	for _, l := range list {
		where, line := r.at(l.uri, l.at.Start, enc)
		if seen[where] {
			continue
		}
		seen[where] = true
		if shown++; shown > maxPlaces {
			continue
		}
		b.WriteString(where)
		if line != "" {
			b.WriteString(": " + line)
		}
		b.WriteByte('\n')
	}
	if shown > maxPlaces {
		fmt.Fprintf(&b, "… and %d more; to narrow the results, use grep in one folder, or request incomingCalls\n", shown-maxPlaces)
	}
	return b.String()
}

func (r *render) result(format string, a ...any) *tool.Result {
	res := &tool.Result{Text: strings.TrimRight(fmt.Sprintf(format, a...), "\n")}
	for uri := range r.files {
		if len(res.Locations) < maxPlaces && r.files[uri].file != nil {
			res.Locations = append(res.Locations, tool.Location{URI: r.files[uri].file.Ref.URI})
		}
	}
	return res
}

// about formats the answer to an operation at a position.
func (r *render) about(op string, at place, a answer) *tool.Result {
	enc := r.h.opt.Workspace.Encoding()
	where, line := r.at(at.file.Ref.URI, at.position(enc), enc)
	head := fmt.Sprintf("%s at %s (%s)", op, where, line)
	switch op {
	case opHover:
		text := decodeHover(a.raw)
		if text == "" {
			break
		}
		if len(text) > maxHover {
			text = strings.ToValidUTF8(text[:maxHover], "") +
				"\n… (cut; read the definition for the rest)"
		}
		return r.result("%s, by %s:\n%s", head, a.from, text)
	case opIncomingCalls, opOutgoingCalls:
		if calls := decodeCalls(a.raw); len(calls) > 0 {
			return r.result("%s, by %s: %d\n%s", head, a.from, len(calls),
				r.calls(op, at, calls, a.enc))
		}
	default:
		if list := decodeLocations(a.raw); len(list) > 0 {
			return r.result("%s, by %s: %d\n%s", head, a.from, len(list), r.places(list, a.enc))
		}
	}
	return r.result("%s: no data: %s found none. If something should be there, check that the position is on a name.", head, a.from)
}

// calls formats callers or callees, each with the lines of its calls.
func (r *render) calls(op string, at place, list []callItem, enc workspace.Encoding) string {
	var b strings.Builder
	for i, c := range list {
		if i == maxPlaces {
			fmt.Fprintf(&b, "… and %d more\n", len(list)-i)
			break
		}
		where, line := r.at(c.uri, c.at.Start, enc)
		fmt.Fprintf(&b, "%s %s %s: %s\n", kindName(c.kind), r.quoted(c.uri, c.name), where, line)
		from := c.uri
		if op == opOutgoingCalls {
			from = at.file.Ref.URI
		}
		for j, rng := range c.calls {
			if j == 5 {
				fmt.Fprintf(&b, "    … and %d more calls\n", len(c.calls)-j)
				break
			}
			where, line := r.at(from, rng.Start, enc)
			fmt.Fprintf(&b, "    call at %s: %s\n", where, line)
		}
	}
	return b.String()
}

func (r *render) documentSymbols(f *workspace.File, a answer) *tool.Result {
	list := decodeSymbols(a.raw)
	name := r.path(f.Ref.URI)
	if len(list) == 0 {
		return r.result("no data: %s reports no symbols in %s.", a.from, name)
	}
	var b strings.Builder
	const most = 3 * maxPlaces
	for i, s := range list {
		if i == most {
			fmt.Fprintf(&b, "… and %d more; read the file\n", len(list)-i)
			break
		}
		_, line := r.at(f.Ref.URI, s.at.Start, a.enc)
		fmt.Fprintf(&b, "%s%d: %s %s | %s\n", strings.Repeat("  ", s.depth), s.at.Start.Line+1,
			kindName(s.kind), s.name, line)
	}
	return r.result("%s, symbols by line, from %s:\n%s", name, a.from, b.String())
}

func (r *render) workspaceSymbols(query string, answers []answer) *tool.Result {
	var b strings.Builder
	total := 0
	for _, a := range answers {
		list := decodeSymbols(a.raw)
		total += len(list)
		b.WriteString(r.symbolLines(list, a.enc, maxPlaces))
	}
	if total == 0 {
		return r.result("no data: %s knows no symbol like %q. Try a part of the name, or grep.",
			answers[0].from, query)
	}
	return r.result("symbols like %q, from %s: %d\n%s", query, answers[0].from, total, b.String())
}

func (r *render) symbolLines(list []symbol, enc workspace.Encoding, most int) string {
	var b strings.Builder
	for i, s := range list {
		if i == most {
			fmt.Fprintf(&b, "… and %d more; search for a longer name\n", len(list)-i)
			break
		}
		where, line := r.at(s.uri, s.at.Start, enc)
		name := s.name
		if s.container != "" && !strings.Contains(name, ".") {
			name = s.container + "." + name
		}
		fmt.Fprintf(&b, "%s %s %s: %s\n", kindName(s.kind), r.quoted(s.uri, name), where, line)
	}
	return b.String()
}

// ambiguous returns an error that lists the symbols with a name, at most 30 of them.
func (r *render) ambiguous(name string, found []symbol, enc workspace.Encoding) error {
	return errors.New(strings.TrimRight(fmt.Sprintf("%s is not unique: %d symbols have that name. Ask again with path and line of one:\n%s", name, len(found), r.symbolLines(found, enc, 30)), "\n"))
}
