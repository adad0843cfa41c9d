package rpc

import (
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// The params of document notifications, read leniently and without LSP's unions.
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
	defer s.hints.documentOpened(d.URI)
	s.place.touched(d.URI)
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
	defer s.hints.documentChanged(p.TextDocument.URI)
	s.place.touched(p.TextDocument.URI)
	return s.core.Workspace.DidChange(p.TextDocument.URI, version, changes)
}

func (s *server) didSave(p *didSaveParams) error {
	var text []byte
	if p.Text != nil {
		text = []byte(*p.Text)
	}
	defer s.savedComments(p.TextDocument.URI)
	return s.core.Workspace.DidSave(p.TextDocument.URI, text)
}

func (s *server) didClose(p *didCloseParams) error {
	s.place.closed(p.TextDocument.URI)
	return s.core.Workspace.DidClose(p.TextDocument.URI)
}

// didChangeWatchedFiles takes the file events of a client that sends them.
func (s *server) didChangeWatchedFiles(raw []byte) error {
	var events []workspace.FileEvent
	for _, c := range objectFrom(raw).objects("changes") {
		if uri := c.string("uri"); uri != "" {
			events = append(events, workspace.FileEvent{URI: uri, Deleted: c.int("type") == fileDeleted})
		}
	}
	s.core.Workspace.WatchedFilesChanged(events)
	return nil
}

// didRenameFiles takes what the user renamed in the editor.
func (s *server) didRenameFiles(raw []byte) error {
	var renames []workspace.FileRename
	for _, f := range objectFrom(raw).objects("files") {
		r := workspace.FileRename{OldURI: f.string("oldUri"), NewURI: f.string("newUri")}
		renames = append(renames, r)
	}
	s.core.Workspace.FilesRenamed(renames)
	for _, r := range renames {
		s.hints.mark(false, r.OldURI)
	}
	return nil
}

// fileDeleted is LSP's FileChangeType.Deleted.
const fileDeleted = 3
