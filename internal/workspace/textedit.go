package workspace

import (
	"bytes"
	"unicode/utf8"
)

// WorkspaceEdit is one request to the editor: file operations first, then the documents.
type WorkspaceEdit struct {
	Files       []FileOp
	Documents   []DocumentEdit
	Annotations map[string]Annotation // by id; set only where the client has changeAnnotations
}

// FileOp creates, renames or deletes a file through the editor.
type FileOp struct {
	Op           Op // Create, Rename or Delete
	URI          string
	NewURI       string // of Rename
	Text         string // of Create
	AnnotationID string
}

// DocumentEdit changes one document. Version is nil for one that is not open.
type DocumentEdit struct {
	URI     string
	Version *int32
	Edits   []TextEdit
}

// TextEdit replaces a range, in the negotiated encoding.
type TextEdit struct {
	Range        Range
	NewText      string
	AnnotationID string
}

// Annotation asks the user to confirm the edits that name it.
type Annotation struct {
	Label             string
	Description       string
	NeedsConfirmation bool
}

// documentEdit makes the smallest edits that turn the document into the target's text.
// Caller holds mu; the target's document is open and its text is the target's base.
func (w *Workspace) documentEdit(t *target) DocumentEdit {
	return w.textEdits(t.c.doc, t.splices())
}

func (w *Workspace) textEdits(d *document, splices []splice) DocumentEdit {
	v := d.version
	e := DocumentEdit{URI: d.uri, Version: &v}
	for _, s := range splices {
		s = minimal(d.text, s)
		if s.start == s.end && len(s.text) == 0 {
			continue
		}
		e.Edits = append(e.Edits, TextEdit{Range: d.index.Range(d.text, s.start, s.end, w.encoding), NewText: string(s.text)})
	}
	return e
}

// minimal cuts a splice to what differs, as far as a position can name its ends: not inside
// a character, not inside "\r\n", and not on the line that an editor does not have.
func minimal(text []byte, s splice) splice {
	full := s
	s = trimSplice(text, s)
	head := s.start - full.start
	tail := full.end - s.end
	for head > 0 && splitsAt(text, full.start+head, full.text, head) {
		head--
	}
	for tail > 0 && splitsAt(text, full.end-tail, full.text, len(full.text)-tail) {
		tail--
	}
	s = splice{full.start + head, full.end - tail, full.text[head : len(full.text)-tail]}
	return offLastLine(text, s)
}

// splitsAt reports whether one of two places lies inside a character or a "\r\n".
func splitsAt(a []byte, i int, b []byte, j int) bool { return inside(a, i) || inside(b, j) }

func inside(s []byte, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	return !utf8.RuneStart(s[i]) || s[i-1] == '\r' && s[i] == '\n'
}

// offLastLine moves an edit at the very end of a text that ends in a line end to before
// that line end. Neovim 0.10 has no line after it and would leave an empty one.
func offLastLine(text []byte, s splice) splice {
	eol := lastEOL(text)
	k := len(eol)
	old := text[s.start:s.end]
	ends := func(b []byte) bool { return len(b) == 0 || bytes.HasSuffix(b, eol) }
	if k == 0 || s.end != len(text) || s.start < k || !bytes.HasSuffix(text[:s.start], eol) || !ends(old) || !ends(s.text) {
		return s
	}
	// A lone "\n" that belongs to "\r\n" must not be torn off.
	if string(eol) == "\n" && s.start > 1 && text[s.start-2] == '\r' {
		return s
	}
	moved := splice{s.start - k, s.end - k, nil}
	if len(s.text) > 0 {
		moved.text = append(append([]byte(nil), eol...), s.text[:len(s.text)-k]...)
	}
	return moved
}

func lastEOL(text []byte) []byte {
	switch {
	case bytes.HasSuffix(text, []byte("\r\n")):
		return text[len(text)-2:]
	case bytes.HasSuffix(text, []byte("\n")):
		return text[len(text)-1:]
	}
	return nil
}
