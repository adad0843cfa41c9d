package workspace

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// fakeEditor is an editor that shares no code with the code under test. Its buffers are plain
// strings, and it computes every position in a simple and slow way.
type fakeEditor struct {
	t        testing.TB
	w        *Workspace
	enc      Encoding
	features ClientFeatures
	// misbehave, if set, handles requests in place of the correct implementation.
	misbehave func(e WorkspaceEdit) (ApplyReply, error)

	// hang, if set, is called for a request. The request then stays unanswered until its context
	// ends.
	hang func(e WorkspaceEdit)

	mu       sync.Mutex
	docs     map[string]*fakeDoc
	requests []WorkspaceEdit
	labels   []string
}

type fakeDoc struct {
	text    string
	version int32
}

func newFake(t testing.TB, enc Encoding) *fakeEditor {
	return &fakeEditor{t: t, enc: enc, docs: map[string]*fakeDoc{},
		features: ClientFeatures{DocumentChanges: true, Create: true, Rename: true, Delete: true}}
}

func (f *fakeEditor) setHang(hang func(WorkspaceEdit)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hang = hang
}

func (f *fakeEditor) Features() ClientFeatures { return f.features }

func (f *fakeEditor) ApplyEdit(ctx context.Context, label string,
	e WorkspaceEdit) (ApplyReply, error) {
	f.mu.Lock()
	f.requests, f.labels = append(f.requests, e), append(f.labels, label)
	mis, hang := f.misbehave, f.hang
	f.mu.Unlock()
	if hang != nil {
		hang(e)
		<-ctx.Done()
		return ApplyReply{}, ctx.Err()
	}
	if mis != nil {
		return mis(e)
	}
	return f.honest(e), nil
}

// honest first checks every version, then applies everything and reports the changes to the
// workspace.
func (f *fakeEditor) honest(e WorkspaceEdit) ApplyReply {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range e.Documents {
		doc := f.docs[d.URI]
		if doc == nil {
			return ApplyReply{FailureReason: "not open: " + d.URI}
		}
		if d.Version != nil && *d.Version != doc.version {
			return ApplyReply{FailureReason: "version mismatch"}
		}
	}
	for _, op := range e.Files {
		f.fileOp(op)
	}
	for _, d := range e.Documents {
		f.applyLocked(d)
	}
	return ApplyReply{Applied: true}
}

func (f *fakeEditor) fileOp(op FileOp) {
	path := func(uri string) string { return strings.TrimPrefix(uri, "file://") }
	switch op.Op {
	case Delete:
		must(f.t, os.Remove(path(op.URI)))
		f.closeLocked(op.URI)
	case Rename:
		must(f.t, os.Rename(path(op.URI), path(op.NewURI)))
		text := f.docs[op.URI].text
		f.closeLocked(op.URI)
		f.openLocked(op.NewURI, text)
	}
}

// applyLocked applies the edits to one document, from last to first, as one change.
func (f *fakeEditor) applyLocked(d DocumentEdit) {
	doc := f.docs[d.URI]
	before := doc.text
	var changes []ContentChange
	for i := len(d.Edits) - 1; i >= 0; i-- {
		r := d.Edits[i].Range
		start, end := f.offset(before, r.Start), f.offset(before, r.End)
		doc.text = doc.text[:start] + d.Edits[i].NewText + doc.text[end:]
		changes = append(changes, ContentChange{Range: &r, Text: []byte(d.Edits[i].NewText)})
	}
	doc.version++
	must(f.t, f.w.DidChange(d.URI, doc.version, changes))
}

func (f *fakeEditor) open(uri, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.openLocked(uri, text)
}

func (f *fakeEditor) openLocked(uri, text string) {
	f.docs[uri] = &fakeDoc{text: text, version: 1}
	must(f.t, f.w.DidOpen(uri, "text", 1, []byte(text)))
}

func (f *fakeEditor) close(uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closeLocked(uri)
}

func (f *fakeEditor) closeLocked(uri string) {
	delete(f.docs, uri)
	must(f.t, f.w.DidClose(uri))
}

// save writes the buffer to disk, as when the user saves.
func (f *fakeEditor) save(uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, err := url.PathUnescape(strings.TrimPrefix(uri, "file://"))
	must(f.t, err)
	must(f.t, os.WriteFile(path, []byte(f.docs[uri].text), 0o644))
	must(f.t, f.w.DidSave(uri, nil))
}

// type_ replaces text[start:end] in a buffer, as when the user types.
func (f *fakeEditor) type_(uri string, start, end int, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.typeLocked(uri, start, end, text)
}

func (f *fakeEditor) typeLocked(uri string, start, end int, text string) {
	doc := f.docs[uri]
	r := Range{Start: f.position(doc.text, start), End: f.position(doc.text, end)}
	doc.text = doc.text[:start] + text + doc.text[end:]
	doc.version++
	must(f.t, f.w.DidChange(uri, doc.version, []ContentChange{{Range: &r, Text: []byte(text)}}))
}

// replace replaces the first occurrence of old in a buffer, as when the user types.
func (f *fakeEditor) replace(uri, old, new string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := strings.Index(f.docs[uri].text, old)
	if i < 0 {
		f.t.Fatalf("the buffer %s has no %q:\n%s", uri, old, f.docs[uri].text)
	}
	f.typeLocked(uri, i, i+len(old), new)
}

// setAll replaces the whole text with a full-text change.
func (f *fakeEditor) setAll(uri, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setAllLocked(uri, text)
}

func (f *fakeEditor) setAllLocked(uri, text string) {
	doc := f.docs[uri]
	doc.text = text
	doc.version++
	must(f.t, f.w.DidChange(uri, doc.version, []ContentChange{{Text: []byte(text)}}))
}

func (f *fakeEditor) text(uri string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.docs[uri]; d != nil {
		return d.text
	}
	return ""
}

func (f *fakeEditor) offset(text string, p Position) int {
	line, i := uint32(0), 0
	for line < p.Line {
		switch {
		case i >= len(text):
			return len(text)
		case strings.HasPrefix(text[i:], "\r\n"):
			i, line = i+2, line+1
		case text[i] == '\n' || text[i] == '\r':
			i, line = i+1, line+1
		default:
			i++
		}
	}
	for units := uint32(0); i < len(text) && text[i] != '\n' && text[i] != '\r'; {
		r, size := utf8.DecodeRuneInString(text[i:])
		n := uint32(size)
		if f.enc == UTF16 {
			n = uint32(len(utf16.Encode([]rune{r})))
		}
		if units+n > p.Character {
			break
		}
		units, i = units+n, i+size
	}
	return i
}

func (f *fakeEditor) position(text string, offset int) Position {
	var p Position
	for i := 0; i < offset; {
		if strings.HasPrefix(text[i:], "\r\n") {
			if offset < i+2 {
				return p
			}
			i, p = i+2, Position{Line: p.Line + 1}
			continue
		}
		if text[i] == '\n' || text[i] == '\r' {
			i, p = i+1, Position{Line: p.Line + 1}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if f.enc == UTF16 {
			p.Character += uint32(len(utf16.Encode([]rune{r})))
		} else {
			p.Character += uint32(size)
		}
		i += size
	}
	return p
}

func must(t failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is a workspace in a temporary folder with a fake editor.
type bench struct {
	*Workspace
	t      testing.TB
	ed     *fakeEditor
	dir    string
	mu     sync.Mutex
	events []ProposalEvent
	notes  []string
}

type setup func(*Options, *fakeEditor)

func newBench(t testing.TB, files map[string]string, opts ...setup) *bench {
	t.Helper()
	b := &bench{t: t, dir: realDir(t), ed: newFake(t, UTF16)}
	for name, text := range files {
		must(t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
		must(t, os.WriteFile(b.path(name), []byte(text), 0o644))
	}
	opt := Options{
		Client:   b.ed,
		StateDir: filepath.Join(realDir(t), "state"),
		OnProposal: func(e ProposalEvent) {
			b.mu.Lock()
			b.events = append(b.events,
				e)
			b.mu.Unlock()
		},
		OnNotice: func(_, text string) {
			b.mu.Lock()
			b.notes = append(b.notes,
				text)
			b.mu.Unlock()
		},
	}
	for _, o := range opts {
		o(&opt, b.ed)
	}
	b.start(opt)
	return b
}

func (b *bench) start(opt Options) {
	b.Workspace = New(opt)
	b.ed.w = b.Workspace
	b.SetEncoding(b.ed.enc)
	b.SetRoots([]string{"file://" + b.dir})
	w := b.Workspace
	b.t.Cleanup(func() { w.Close() })
}

func realDir(t testing.TB) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }
func (b *bench) uri(name string) string  { return "file://" + b.path(name) }

func (b *bench) ref(name string) Ref {
	b.t.Helper()
	r, err := b.Resolve(b.dir, name)
	must(b.t, err)
	return r
}

func (b *bench) disk(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(data)
}

func (b *bench) read(name string) *File {
	b.t.Helper()
	f, err := b.Read(context.Background(), b.ref(name))
	must(b.t, err)
	return f
}

// propose proposes new texts for files ("name", "text", …) with the given policy.
func (b *bench) propose(policy Policy, nameText ...string) *Proposal {
	b.t.Helper()
	p, err := b.tryPropose(policy, nameText...)
	must(b.t, err)
	return p
}

func (b *bench) tryPropose(policy Policy, nameText ...string) (*Proposal, error) {
	b.t.Helper()
	req := ProposeRequest{SessionID: "s", TurnID: "t1", ItemID: "i", Title: "Edit", Policy: policy}
	for i := 0; i+1 < len(nameText); i += 2 {
		ref := b.ref(nameText[i])
		ch := Change{Op: Modify, Ref: ref, Data: []byte(nameText[i+1])}
		if f, err := b.ReadFor(context.Background(), "s", ref); err != nil {
			ch.Op = Create
		} else {
			ch.Base = f.SHA256
		}
		req.Changes = append(req.Changes, ch)
	}
	return b.Propose(context.Background(), req)
}

func (b *bench) decide(p *Proposal, ds ...Decision) DecideResult {
	b.t.Helper()
	r, err := b.Decide(context.Background(), DecideRequest{ProposalID: p.ID, Decisions: ds})
	must(b.t, err)
	return r
}

func (b *bench) get(id string) Proposal {
	b.t.Helper()
	p, _, err := b.Get(id)
	must(b.t, err)
	return p
}

// kinds lists the events so far in the form "created 1 proposed".
func (b *bench) kinds() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, e := range b.events {
		out = append(out, fmt.Sprintf("%s %d %s", e.Kind, e.Proposal.Revision, e.Proposal.State))
	}
	return out
}

func equal[T comparable](t failer, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func accept(id string) Decision { return Decision{HunkID: id, Action: Accept} }
func reject(id string) Decision { return Decision{HunkID: id, Action: Reject} }

// failer contains the methods that *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}
