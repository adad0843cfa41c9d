package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// ErrRefused means that the editor does not allow a file to be read.
var ErrRefused = errors.New("the editor refused access to the file")

// ErrNotOpen means that a document notification named a document that is not open.
var ErrNotOpen = errors.New("the document is not open")

// ContentChange is one change in a didChange notification. Without a Range, Text is the complete
// text.
type ContentChange struct {
	Range *Range
	Text  []byte
}

// DocInfo describes an open document.
type DocInfo struct {
	Ref        Ref
	LanguageID string
	Version    int32
	Dirty      bool // the text differs from the file on disk, or the file does not exist
	Text       []byte
}

// document is the overlay of one open document. All its fields are guarded by Workspace.mu.
type document struct {
	uri        string // the client's own spelling
	path       string // "" if the document is not a file
	lexical    string // key based on the spelling of the URI
	key        string // canonical key, set when first needed, because computing it reads the disk
	languageID string
	version    int32
	text       []byte
	shared     bool // the text was handed out, so the next change copies it
	index      *text.LineIndex
	synced     uint64 // hash of the text that the editor last loaded or saved
	// unsaved contains the hashes of the buffer's texts since the last load or save, oldest first.
	// The editor may have written any of them.
	unsaved []uint64
	// opened is the time at which the editor opened the document, until the file has been read. It
	// is needed because an editor may open a document that already has unsaved changes.
	opened   time.Time
	diskTold bool // the user knows that the disk and the buffer differ
	asking   bool // the user is being asked which text to keep
	watches  []*bufferWatch
	late     []*bufferWatch // abandoned applies whose change may still arrive
	touched  uint64         // order of the last change, for "the last document"
}

var docSeed = maphash.MakeSeed()

func (d *document) snapshot() []byte {
	d.shared = true
	return d.text
}

// replace splices the text, copying it first if other code holds a reference.
func (d *document) replace(start, end int, with []byte) {
	if d.shared {
		fresh := make([]byte, 0, len(d.text)+len(with)-(end-start)+256)
		fresh = append(append(append(fresh, d.text[:start]...), with...), d.text[end:]...)
		d.text, d.shared = fresh, false
	} else {
		d.text = slices.Replace(d.text, start, end, with...)
	}
	d.index.Splice(d.text, start, end, len(with))
}

// SetEncoding sets the negotiated position encoding. It must be called before any document opens.
func (w *Workspace) SetEncoding(e Encoding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.encoding = e
}

// Encoding returns the negotiated position encoding.
func (w *Workspace) Encoding() Encoding {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.encoding
}

// DidOpen records an opened document and takes ownership of body. Like all notifications, it is
// called in order of arrival and never waits for the disk or for another caller.
func (w *Workspace) DidOpen(uri, languageID string, version int32, body []byte) error {
	uri = strings.Clone(uri)
	key, file := path.LexicalKey(uri)
	d := &document{
		uri: uri, path: file, lexical: key, languageID: strings.Clone(languageID), version: version,
		text: body, index: text.NewLineIndex(body), synced: maphash.Bytes(docSeed, body),
		opened: time.Now(),
	}
	w.mu.Lock()
	w.dropDocument(key)
	d.touched = w.nextTouch()
	w.docs[key] = d
	if file == "" || w.tracked[key] != nil {
		w.linkDocument(d, key)
	}
	w.mu.Unlock()
	w.docEvents.notify()
	w.flush()
	return nil
}

// dropDocument forgets the document with the given lexical key. It is called when a document is
// closed, and when it is opened again. The caller holds mu.
func (w *Workspace) dropDocument(key string) {
	d := w.docs[key]
	if d == nil {
		return
	}
	delete(w.docs, key)
	w.unlinkDocument(d)
}

// DidChange applies the changes from one notification in order. Positions beyond the text are
// clamped, as editors do.
func (w *Workspace) DidChange(uri string, version int32, changes []ContentChange) error {
	w.mu.Lock()
	d := w.document(uri)
	if d == nil {
		w.mu.Unlock()
		return fmt.Errorf("changing %s: %w", uri, ErrNotOpen)
	}
	for _, c := range changes {
		w.change(d, c)
	}
	d.version = version
	d.diskTold = false
	d.remember()
	d.touched = w.nextTouch()
	w.settle(d)
	w.mu.Unlock()
	w.flush()
	return nil
}

func (w *Workspace) change(d *document, c ContentChange) {
	start, end := 0, len(d.text)
	if c.Range != nil {
		start = d.index.Offset(d.text, c.Range.Start, w.encoding)
		if end = start; c.Range.End != c.Range.Start {
			end = d.index.Offset(d.text, c.Range.End, w.encoding)
		}
		if end < start {
			start, end = end, start
		}
	}
	s := text.Trim(d.text, splice{Start: start, End: end, Text: c.Text})
	if s.Start == s.End && len(s.Text) == 0 {
		return
	}
	splices := []splice{s}
	if c.Range == nil && slices.ContainsFunc(w.tracked[d.key],
		func(c *change) bool { return c.doc == d && c.touched(s) }) {
		splices = text.Lines(d.text, c.Text)
	}
	for _, s := range splices {
		d.replace(s.Start, s.End, s.Text)
	}
	w.trackChange(d, splices)
}

// DidSave records that the editor wrote the buffer to disk.
func (w *Workspace) DidSave(uri string, text []byte) error {
	w.mu.Lock()
	d := w.document(uri)
	if d == nil {
		w.mu.Unlock()
		return fmt.Errorf("saving %s: %w", uri, ErrNotOpen)
	}
	if text != nil && !bytes.Equal(text, d.text) {
		w.change(d, ContentChange{Text: text})
		w.settle(d)
	}
	// The text on disk may be older than the buffer, because the user can type while the editor
	// writes.
	d.remember()
	d.synced, d.opened = maphash.Bytes(docSeed, d.text), time.Time{}
	d.diskTold = false
	for c := range w.commands {
		c.saved[d.path] = d.synced
		if d.key != "" {
			c.saved[d.key] = d.synced
		}
	}
	w.mu.Unlock()
	w.flush()
	return nil
}

// DidClose removes the document. From then on, the text on disk is used.
func (w *Workspace) DidClose(uri string) error {
	w.mu.Lock()
	d := w.document(uri)
	if d == nil {
		w.mu.Unlock()
		return fmt.Errorf("closing %s: %w", uri, ErrNotOpen)
	}
	delete(w.docs, d.lexical)
	w.unlinkDocument(d)
	w.mu.Unlock()
	w.docEvents.notify()
	w.flush()
	return nil
}

// document finds an open document by a client's URI. The caller holds mu.
func (w *Workspace) document(uri string) *document {
	key, _ := path.LexicalKey(uri)
	return w.docs[key]
}

func (w *Workspace) nextTouch() uint64 {
	w.touches++
	return w.touches
}

// byKey finds the open document that has the given canonical key. Documents whose key is not known
// yet are found only by their spelling (see canonicalizeDocs). The caller holds mu.
func (w *Workspace) byKey(key string) *document {
	if d := w.docs[key]; d != nil && (d.key == "" || d.key == key) {
		return d
	}
	var best *document
	for _, d := range w.docs {
		if d.key == key && (best == nil || d.touched > best.touched) {
			best = d
		}
	}
	return best
}

// canonicalizeDocs computes, without holding the lock, the keys that notifications left unset. It
// then processes the renames that notifications reported.
func (w *Workspace) canonicalizeDocs() {
	w.mu.Lock()
	var open []*document
	for _, d := range w.docs {
		if d.key == "" {
			open = append(open, d)
		}
	}
	w.mu.Unlock()
	for _, d := range open {
		key := d.lexical
		if real, err := path.Canonical(d.path); err == nil {
			key = path.Key(real)
		}
		w.mu.Lock()
		if d.key == "" && w.docs[d.lexical] == d {
			w.linkDocument(d, key)
		}
		w.mu.Unlock()
	}
	if len(open) > 0 {
		w.flush()
	}
	w.followRenames()
}

// Documents lists the open documents, the most recently used first. Text is shared and must not be
// changed.
func (w *Workspace) Documents() []DocInfo {
	w.canonicalizeDocs()
	roots := w.roots.For("")
	w.mu.Lock()
	docs := make([]*document, 0, len(w.docs))
	for _, d := range w.docs {
		docs = append(docs, d)
	}
	slices.SortFunc(
		docs,
		func(a, b *document) int { return int(int64(b.touched) - int64(a.touched)) },
	)
	out := make([]DocInfo, len(docs))
	for i, d := range docs {
		out[i] = DocInfo{Ref: w.refOfDoc(d, roots), LanguageID: d.languageID, Version: d.version,
			Text: d.snapshot()}
		out[i].Dirty = d.path == "" || maphash.Bytes(docSeed, d.text) != d.synced
	}
	w.mu.Unlock()
	for i := range out {
		if out[i].Ref.IsFile() {
			out[i].Dirty = w.dirty(out[i].Ref, out[i].Text)
		}
	}
	return out
}

// TextAt returns the client's text in a range of an open document, or the complete text if r is
// nil, and the document's language.
func (w *Workspace) TextAt(uri string, r *Range) (text, languageID string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.document(uri)
	if d == nil {
		return "", "", false
	}
	if r == nil {
		return string(d.text), d.languageID, true
	}
	start, end := d.index.Offset(d.text, r.Start, w.encoding),
		d.index.Offset(d.text, r.End, w.encoding)
	return string(d.text[start:max(start, end)]), d.languageID, true
}
