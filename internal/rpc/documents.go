package rpc

import (
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// The params of document notifications, decoded leniently and without LSP's unions.
type (
	didOpenParams struct {
		TextDocument struct {
			URI        string `json:"uri"`
			LanguageID string `json:"languageId"`
			Version    int32  `json:"version"`
			Text       string `json:"text"`
		} `json:"textDocument"`
	}
	documentID struct {
		URI     string `json:"uri"`
		Version *int32 `json:"version"`
	}
	didChangeParams struct {
		TextDocument   documentID `json:"textDocument"`
		ContentChanges []struct {
			Range *workspace.Range `json:"range"`
			Text  string           `json:"text"`
		} `json:"contentChanges"`
	}
	didSaveParams struct {
		TextDocument documentID `json:"textDocument"`
		Text         *string    `json:"text"`
	}
	didCloseParams struct {
		TextDocument documentID `json:"textDocument"`
	}
)

func (s *server) didOpen(p *didOpenParams) error {
	d := p.TextDocument
	if d.URI == "" {
		return agentapi.Invalid("textDocument.uri", "is missing")
	}
	defer s.editor.DidOpen(d.URI)
	return s.core.Workspace.DidOpen(d.URI, d.LanguageID, d.Version, []byte(d.Text))
}

func (s *server) didChange(p *didChangeParams) error {
	if p.TextDocument.URI == "" {
		return agentapi.Invalid("textDocument.uri", "is missing")
	}
	changes := make([]workspace.ContentChange, len(p.ContentChanges))
	for i, c := range p.ContentChanges {
		changes[i] = workspace.ContentChange{Range: c.Range, Text: []byte(c.Text)}
	}
	var version int32
	if p.TextDocument.Version != nil {
		version = *p.TextDocument.Version
	}
	defer s.editor.DidChange(p.TextDocument.URI)
	return s.core.Workspace.DidChange(p.TextDocument.URI, version, changes)
}

func (s *server) didSave(p *didSaveParams) error {
	var text []byte
	if p.Text != nil {
		text = []byte(*p.Text)
	}
	defer s.editor.DidSave(p.TextDocument.URI)
	return s.core.Workspace.DidSave(p.TextDocument.URI, text)
}

func (s *server) didClose(p *didCloseParams) error {
	s.editor.DidClose(p.TextDocument.URI)
	return s.core.Workspace.DidClose(p.TextDocument.URI)
}

// didChangeWatchedFiles processes the file events that some clients send.
func (s *server) didChangeWatchedFiles(raw []byte) error {
	var events []workspace.FileEvent
	for _, c := range conn.ObjectFrom(raw).Objects("changes") {
		if uri := c.String("uri"); uri != "" {
			events = append(
				events,
				workspace.FileEvent{URI: uri, Deleted: c.Int("type") == fileDeleted},
			)
		}
	}
	s.core.Workspace.WatchedFilesChanged(events)
	return nil
}

// didRenameFiles processes renames that the user made in the editor.
func (s *server) didRenameFiles(raw []byte) error {
	var renames []workspace.FileRename
	for _, f := range conn.ObjectFrom(raw).Objects("files") {
		r := workspace.FileRename{OldURI: f.String("oldUri"), NewURI: f.String("newUri")}
		renames = append(renames, r)
	}
	s.core.Workspace.FilesRenamed(renames)
	for _, r := range renames {
		s.editor.DidRename(r.OldURI)
	}
	return nil
}

// fileDeleted is LSP's FileChangeType.Deleted.
const fileDeleted = 3
