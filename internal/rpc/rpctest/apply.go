package rpctest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// workspaceEdit is the part of LSP's WorkspaceEdit that the fake editor supports.
type workspaceEdit struct {
	Changes         map[string][]TextEdit `json:"changes"`
	DocumentChanges []documentChange      `json:"documentChanges"`
}

type documentChange struct {
	Kind         string `json:"kind"` // "create", "rename", "delete", or "" for a text edit
	URI          string `json:"uri"`
	OldURI       string `json:"oldUri"`
	NewURI       string `json:"newUri"`
	TextDocument struct {
		URI     string `json:"uri"`
		Version *int   `json:"version"`
	} `json:"textDocument"`
	Edits []TextEdit `json:"edits"`
}

// applyReaction handles a workspace/applyEdit request as Behave specifies. The caller holds the
// lock.
func (e *Editor) applyReaction(m *Message) func() {
	var p struct {
		Edit workspaceEdit `json:"edit"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return func() { _ = e.replyError(m, -32602, err.Error()) }
	}
	yes := func() { _ = e.Reply(m, json.RawMessage(`{"applied":true}`)) }
	apply := func() { e.applyAndAnswer(m, p.Edit) }
	switch e.behave {
	case "skip":
		return yes
	case "late":
		return func() { yes(); _ = e.apply(p.Edit) }
	case "refuse":
		return func() {
			_ = e.Reply(m, json.RawMessage(
				`{"applied":false,"failureReason":"the user's settings forbid it"}`))
		}
	case "other":
		return func() { _ = e.apply(withExtraSpace(p.Edit, e)); yes() }
	case "silent":
		return func() {}
	case "deaf":
		return func() { _ = e.apply(p.Edit) }
	case "null":
		return func() { _ = e.apply(p.Edit); _ = e.Reply(m, json.RawMessage("null")) }
	case "first":
		return func() {
			first := p.Edit
			if len(first.DocumentChanges) > 1 {
				first.DocumentChanges = first.DocumentChanges[:1]
			}
			_ = e.apply(first)
			yes()
		}
	case "hold":
		e.held = append(e.held, apply)
		return func() {}
	}
	return apply
}

func (e *Editor) applyAndAnswer(m *Message, edit workspaceEdit) {
	if err := e.apply(edit); err != nil {
		b, _ := json.Marshal(map[string]any{"applied": false, "failureReason": err.Error()})
		_ = e.Reply(m, b)
		return
	}
	_ = e.Reply(m, json.RawMessage(`{"applied":true}`))
}

// apply changes buffers and files. If the version of any document differs from that of its buffer,
// apply rejects the whole edit before anything changes, as LSP requires.
func (e *Editor) apply(edit workspaceEdit) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range edit.DocumentChanges {
		b := e.buffers[d.TextDocument.URI]
		if v := d.TextDocument.Version; b != nil && v != nil && *v != b.Version {
			return fmt.Errorf("%s is at version %d, the edit is for %d", b.URI, b.Version, *v)
		}
	}
	for _, uri := range sortedKeys(edit.Changes) {
		if err := e.editDocument(uri, edit.Changes[uri]); err != nil {
			return err
		}
	}
	for _, d := range edit.DocumentChanges {
		if err := e.applyOne(d); err != nil {
			return err
		}
	}
	return nil
}

func (e *Editor) applyOne(d documentChange) error {
	switch d.Kind {
	case "create":
		path := pathOf(d.URI)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		return f.Close()
	case "delete":
		return os.Remove(pathOf(d.URI))
	case "rename":
		if b := e.buffers[d.OldURI]; b != nil {
			delete(e.buffers, d.OldURI)
			b.URI = d.NewURI
			e.buffers[d.NewURI] = b
		}
		return os.Rename(pathOf(d.OldURI), pathOf(d.NewURI))
	}
	return e.editDocument(d.TextDocument.URI, d.Edits)
}

// editDocument edits an open buffer. For a closed document, it opens a hidden buffer and leaves it
// unsaved, as real editors do. This lets a test detect that the daemon should not have sent the
// edit.
func (e *Editor) editDocument(uri string, edits []TextEdit) error {
	b := e.buffers[uri]
	if b == nil {
		text, err := os.ReadFile(pathOf(uri))
		if err != nil {
			return err
		}
		b = &Buffer{URI: uri, Version: 1, Text: string(text), UTF8: e.utf8}
		e.buffers[uri] = b
		if err := e.Notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": uri, "languageId": "", "version": 1, "text": b.Text}}); err != nil {
			return err
		}
	}
	if len(edits) == 0 {
		return nil
	}
	before := *b
	if err := b.Apply(edits); err != nil {
		*b = before
		return err
	}
	// Apply the edits from the end, so that the ranges of the remaining ones stay valid.
	order := append([]TextEdit(nil), edits...)
	sort.SliceStable(order, func(i, j int) bool {
		return after(order[i].Range.Start,
			order[j].Range.Start)
	})
	changes := make([]any, len(order))
	for i, ed := range order {
		changes[i] = map[string]any{"range": ed.Range, "text": ed.NewText}
	}
	return e.didChange(b, changes)
}

func after(a, b Position) bool {
	return a.Line > b.Line || a.Line == b.Line && a.Character > b.Character
}

// withExtraSpace returns the edit with an additional space at the end of each document.
func withExtraSpace(edit workspaceEdit, e *Editor) workspaceEdit {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := workspaceEdit{}
	for _, d := range edit.DocumentChanges {
		if b := e.buffers[d.TextDocument.URI]; b != nil && d.Kind == "" {
			end := b.PositionAt(len(b.Text))
			d.Edits = append(append([]TextEdit(nil), d.Edits...), TextEdit{Range{end, end}, " "})
		}
		out.DocumentChanges = append(out.DocumentChanges, d)
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
