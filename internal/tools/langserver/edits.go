package langserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sort"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// wireEdit is a WorkspaceEdit, decoded leniently.
type wireEdit struct {
	Changes         map[string][]textEdit
	DocumentChanges []wireChange
}

// wireChange is a change to a document's text or a file operation.
type wireChange struct {
	Kind         string // "" for an edit of the text
	URI          string
	OldURI       string
	NewURI       string
	Options      struct{ Overwrite, IgnoreIfExists, IgnoreIfNotExists bool }
	TextDocument struct{ URI string }
	Edits        []textEdit
}

type textEdit struct {
	Range   workspace.Range
	NewText string
}

// draft is a file as it would be after a server's edit.
type draft struct {
	ref     workspace.Ref   // the file's current location
	to      workspace.Ref   // the file's new location, if renamed
	file    *workspace.File // nil if the file does not exist yet
	data    []byte
	renamed bool
	deleted bool
}

// drafts applies a server's edit step by step, because the order of the steps matters.
type drafts struct {
	s    *server
	ctx  context.Context
	cwd  string // folder to which the names in messages are relative
	list []*draft
	by   map[string]*draft // drafts by the key of the current path; nil: the path no longer exists
}

// changes converts a server's edit to proposed changes. It converts either the complete edit or
// nothing. The errors are for the model.
func (s *server) changes(ctx context.Context, cwd string,
	raw json.RawMessage) ([]workspace.Change, error) {
	var e wireEdit
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("reading the server's edit: %w", err)
	}
	d := &drafts{s: s, ctx: ctx, cwd: cwd, by: map[string]*draft{}}
	if len(e.DocumentChanges) == 0 { // a server sends one of the two forms
		var uris []string
		for u := range e.Changes {
			uris = append(uris, u)
		}
		sort.Strings(uris)
		for _, u := range uris {
			e.DocumentChanges = append(e.DocumentChanges, wireChange{URI: u, Edits: e.Changes[u]})
		}
	}
	for i := range e.DocumentChanges {
		if err := d.step(&e.DocumentChanges[i]); err != nil {
			return nil, err
		}
	}
	return d.changes(), nil
}

func (d *drafts) step(c *wireChange) error {
	switch c.Kind {
	case "":
		if c.TextDocument.URI != "" {
			c.URI = c.TextDocument.URI
		}
		return d.edit(c.URI, c.Edits)
	case "create":
		return d.create(c)
	case "rename":
		return d.rename(c)
	case "delete":
		return d.delete(c)
	}
	return fmt.Errorf("the server's edit contains an unknown step %q; make the change with the edit tools", c.Kind)
}

// at returns the draft of the file that has the given URI after the edits so far, or nil if there
// is no such file.
func (d *drafts) at(uri string) (*draft, workspace.Ref, error) {
	w := d.s.hub.opt.Workspace
	ref, err := w.Resolve(d.cwd, uri)
	if err != nil {
		return nil, ref, fmt.Errorf("the server's edit changes files outside the workspace: %w", err)
	}
	if f, known := d.by[ref.Key]; known {
		return f, ref, nil
	}
	f, err := w.Read(d.ctx, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ref, nil
	}
	if err != nil {
		return nil, ref, err
	}
	if !d.s.knows(f) {
		return nil, ref, fmt.Errorf("%s changed while the server worked; ask again", ref)
	}
	out := &draft{ref: ref, to: ref, file: f, data: f.Text.Data}
	d.list, d.by[ref.Key] = append(d.list, out), out
	return out, ref, nil
}

// knows reports whether the server has the current text of a file. That is the case if this text
// was the last one sent, or if the server reads it from the disk.
func (s *server) knows(f *workspace.File) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	doc := s.open.docs[f.Ref.Path]
	return doc == nil || doc.hash == workspace.HashOf(f.Text.Data)
}

func (d *drafts) edit(uri string, edits []textEdit) error {
	f, ref, err := d.at(uri)
	if err != nil {
		return err
	}
	if f == nil {
		return fmt.Errorf("the server's edit changes %s, which does not exist", ref)
	}
	if f.data, err = applyEdits(f.data, edits, d.s.encoding()); err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	return nil
}

func (d *drafts) create(c *wireChange) error {
	f, ref, err := d.at(c.URI)
	switch {
	case err != nil:
		return err
	case f == nil:
		f = &draft{ref: ref, to: ref}
		d.list, d.by[ref.Key] = append(d.list, f), f
	case c.Options.Overwrite:
		f.data = nil
	case !c.Options.IgnoreIfExists:
		return fmt.Errorf("the server's edit creates %s, which already exists", ref)
	}
	return nil
}

func (d *drafts) rename(c *wireChange) error {
	f, from, err := d.at(c.OldURI)
	if err != nil {
		return err
	}
	if f == nil {
		return fmt.Errorf("the server's edit renames %s, which is not a file; rename it with the shell and ask again", from)
	}
	there, to, err := d.at(c.NewURI)
	switch {
	case err != nil:
		return err
	case there != nil && c.Options.IgnoreIfExists && !c.Options.Overwrite:
		return nil
	case there != nil:
		return fmt.Errorf("the server's edit renames %s to %s, which already exists", from, to)
	}
	f.to, f.renamed = to, f.file != nil
	if !f.renamed {
		f.ref = to
	}
	d.by[from.Key], d.by[to.Key] = nil, f
	return nil
}

func (d *drafts) delete(c *wireChange) error {
	f, ref, err := d.at(c.URI)
	switch {
	case err != nil:
		return err
	case f != nil:
		f.deleted, d.by[ref.Key] = true, nil
	case !c.Options.IgnoreIfNotExists:
		return fmt.Errorf("the server's edit deletes %s, which is not a file; delete it with the shell",
			ref)
	}
	return nil
}

// changes returns the differences between the drafts and the current files.
func (d *drafts) changes() (out []workspace.Change) {
	for _, f := range d.list {
		switch {
		case f.file == nil && f.deleted:
		case f.file == nil:
			out = append(out, workspace.Change{Op: workspace.Create, Ref: f.ref, Data: f.data})
		case f.deleted:
			out = append(out, workspace.Change{Op: workspace.Delete, Ref: f.ref,
				Base: f.file.SHA256})
		case f.renamed:
			out = append(out, workspace.Change{Op: workspace.Rename, Ref: f.ref, NewRef: f.to,
				Data: f.data, Base: f.file.SHA256})
		case !bytes.Equal(f.data, f.file.Text.Data):
			out = append(out, workspace.Change{Op: workspace.Modify, Ref: f.ref, Data: f.data,
				Base: f.file.SHA256})
		}
	}
	return out
}

// applyEdits applies text edits, which all refer to the original text.
func applyEdits(body []byte, edits []textEdit, enc workspace.Encoding) ([]byte, error) {
	index := text.NewLineIndex(body)
	edits = append([]textEdit(nil), edits...)
	sort.SliceStable(edits, func(i, j int) bool {
		a, b := edits[i].Range.Start, edits[j].Range.Start
		return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
	})
	var out []byte
	at := 0
	for _, e := range edits {
		start, end := index.Offset(body, e.Range.Start, enc), index.Offset(body, e.Range.End, enc)
		if start < at || end < start || int(e.Range.Start.Line) >= index.Lines() {
			return nil, errors.New("the server's edits do not fit the text as it is now; ask again")
		}
		out = append(append(out, body[at:start]...), e.NewText...)
		at = end
	}
	return append(out, body[at:]...), nil
}
