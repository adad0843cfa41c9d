package rpctest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// Buffer returns a copy of a document's buffer, or nil if the document is not open.
func (e *Editor) Buffer(uri string) *Buffer {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.buffers[uri]; b != nil {
		c := *b
		return &c
	}
	return nil
}

// Open opens a document with the given text and notifies the daemon.
func (e *Editor) Open(uri, language, text string) error {
	e.mu.Lock()
	e.buffers[uri] = &Buffer{URI: uri, Language: language, Version: 1, Text: text, UTF8: e.utf8}
	e.mu.Unlock()
	return e.Notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uri, "languageId": language, "version": 1, "text": text}})
}

// Edit changes a document as a user would and notifies the daemon.
func (e *Editor) Edit(uri string, edits ...TextEdit) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.buffers[uri]
	if b == nil {
		return fmt.Errorf("%s is not open in the fake editor", uri)
	}
	for _, ed := range edits {
		if err := b.Apply([]TextEdit{ed}); err != nil {
			return err
		}
		if err := e.didChange(b, []any{map[string]any{"range": ed.Range,
			"text": ed.NewText}}); err != nil {
			return err
		}
	}
	return nil
}

// didChange notifies the daemon of a change. The caller must hold the lock, so that versions are
// sent in order.
func (e *Editor) didChange(b *Buffer, changes []any) error {
	return e.Notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": b.URI, "version": b.Version},
		"contentChanges": changes})
}

// Save writes a document to disk and notifies the daemon.
func (e *Editor) Save(uri string) error {
	b := e.Buffer(uri)
	if b == nil {
		return fmt.Errorf("%s is not open in the fake editor", uri)
	}
	if err := os.WriteFile(pathOf(uri), []byte(b.Text), 0o644); err != nil {
		return err
	}
	return e.Notify("textDocument/didSave",
		map[string]any{"textDocument": map[string]any{"uri": uri}})
}

// Close closes a document.
func (e *Editor) Close(uri string) error {
	e.mu.Lock()
	delete(e.buffers, uri)
	e.mu.Unlock()
	return e.Notify("textDocument/didClose",
		map[string]any{"textDocument": map[string]any{"uri": uri}})
}

func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	return filepath.FromSlash(u.Path)
}

// URIOf returns the file URI of an absolute path.
func URIOf(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
