package workspace

import "github.com/agent-lsp/agent-lsp/internal/workspace/text"

// WorkspaceEdit is one request to the editor. Its file operations come first, then its documents.
type WorkspaceEdit struct {
	Files       []FileOp
	Documents   []DocumentEdit
	Annotations map[string]Annotation // by id; set only if the client supports changeAnnotations
}

// FileOp creates, renames or deletes a file through the editor.
type FileOp struct {
	Op           Op // Create, Rename or Delete
	URI          string
	NewURI       string // only for Rename
	Text         string // only for Create
	AnnotationID string
}

// DocumentEdit changes one document. Version is nil for a document that is not open.
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

// documentEdit creates the smallest edits that change the document to the target's text. The
// target's document is open and its text is the target's base. The caller holds mu.
func (w *Workspace) documentEdit(t *target) DocumentEdit {
	return w.textEdits(t.c.doc, t.splices())
}

func (w *Workspace) textEdits(d *document, splices []splice) DocumentEdit {
	v := d.version
	e := DocumentEdit{URI: d.uri, Version: &v}
	for _, s := range splices {
		s = text.Minimal(d.text, s)
		if s.Start == s.End && len(s.Text) == 0 {
			continue
		}
		e.Edits = append(e.Edits, TextEdit{Range: d.index.Range(d.text, s.Start, s.End, w.encoding),
			NewText: string(s.Text)})
	}
	return e
}
