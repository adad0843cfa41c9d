package langserver

import (
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Limits for the stored diagnostics of a server, and for the files that are open in the server but
// not in an editor.
const (
	maxDiagnosedFiles = 5000
	maxPerFile        = 1000
	maxPinned         = 100
)

// document is the state of a file in a server.
type document struct {
	version int32
	hash    string
	since   int    // problems.seq when the text was sent
	used    uint64 // order of the last use; 0: open because the editor has the file open
}

// published is what a server last reported about a file.
type published struct {
	version *int32
	seq     int
	items   []diagnostic
}

// diagnostic is an LSP diagnostic, decoded leniently.
type diagnostic struct {
	Range    workspace.Range
	Severity int
	Code     json.RawMessage
	Source   string
	Message  json.RawMessage // a string, or markup as in LSP 3.18
	raw      json.RawMessage // JSON as the server sent it
}

// UnmarshalJSON also stores the original JSON, because a request for code actions contains the
// diagnostics as the server sent them.
func (d *diagnostic) UnmarshalJSON(b []byte) error {
	type plain diagnostic
	d.raw = append(d.raw[:0:0], b...)
	return json.Unmarshal(b, (*plain)(d))
}

// text returns the message as text.
func (d *diagnostic) text() string {
	var s string
	if json.Unmarshal(d.Message, &s) == nil {
		return s
	}
	var markup struct{ Value string }
	_ = json.Unmarshal(d.Message, &markup)
	return markup.Value
}

// pathOfURI returns the path of a file URI in any spelling. Other URIs stay unchanged.
func pathOfURI(u string) string {
	rest, ok := strings.CutPrefix(u, "file://")
	if !ok {
		return u
	}
	p, err := url.PathUnescape(rest)
	if err != nil {
		return u
	}
	if runtime.GOOS == "windows" {
		p = strings.TrimPrefix(p, "/")
		if len(p) > 1 && p[1] == ':' {
			p = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return filepath.Clean(filepath.FromSlash(p))
}

func (s *server) publish(params json.RawMessage) {
	var p struct {
		URI         string
		Version     *int32
		Diagnostics []diagnostic
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	path := pathOfURI(p.URI)
	if len(p.Diagnostics) > maxPerFile {
		p.Diagnostics = p.Diagnostics[:maxPerFile]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problems.diags[path] == nil && len(s.problems.diags) >= maxDiagnosedFiles {
		return
	}
	s.problems.seq++
	s.problems.diags[path] = &published{
		version: p.Version,
		seq:     s.problems.seq,
		items:   p.Diagnostics,
	}
	s.wake()
}

// fresh reports whether the server has reported diagnostics for the newest text of a file. The
// caller holds mu.
func (s *server) fresh(path string) bool {
	d, p := s.open.docs[path], s.problems.diags[path]
	if _, pulls := s.pulls(); pulls {
		p = s.problems.pulled[path]
	}
	switch {
	case d == nil || p == nil:
		return false
	case p.version != nil && *p.version < d.version:
		return false
	}
	// This comparison is needed even if there is a version, because versions start again when a
	// file is closed and reopened.
	return p.seq > d.since
}

// sync sends the server the current texts of the editor's documents, of the files from earlier
// questions, and of the given files. It returns an error if one of the texts could not be sent.
func (s *server) sync(ctx context.Context, files ...*workspace.File) error {
	s.open.sending.Lock()
	defer s.open.sending.Unlock()
	open := map[string]bool{}
	for _, d := range s.hub.opt.Workspace.Documents() {
		if d.Ref.IsFile() && s.covers(d.Ref.Path) {
			open[d.Ref.Path] = true
			if err := s.put(d.Ref.Path, d.LanguageID, d.Text, false); err != nil {
				return err
			}
		}
	}
	for _, f := range files {
		if err := s.put(f.Ref.Path, f.LanguageID, f.Text.Data, !open[f.Ref.Path]); err != nil {
			return err
		}
		open[f.Ref.Path] = true
	}
	return s.refresh(ctx, open)
}

func (s *server) covers(path string) bool {
	return s.conf.Languages[strings.ToLower(filepath.Ext(path))] != "" &&
		within(s.root, filepath.Dir(path))
}

// put opens or changes one document. The caller holds sending.
func (s *server) put(path, language string, text []byte, pin bool) error {
	if id := s.conf.Languages[strings.ToLower(filepath.Ext(path))]; id != "" &&
		(language == "" || language == "plaintext") {
		language = id
	}
	hash, name, now := workspace.HashOf(
		text,
	), string(
		uri.File(path),
	), s.hub.tick() // called before mu is locked, because the hub's lock is acquired first
	s.mu.Lock()
	d, known := s.open.docs[path], s.open.docs[path] != nil
	if !known {
		d = &document{}
		s.open.docs[path] = d
	}
	if d.used = 0; pin {
		d.used = now
	}
	same := known && d.hash == hash
	if !same {
		d.version++
		d.hash, d.since = hash, s.problems.seq
	}
	version := d.version
	s.mu.Unlock()
	var err error
	switch {
	case same:
		return nil
	case known:
		err = s.c.notify(protocol.MethodTextDocumentDidChange, map[string]any{
			"textDocument":   map[string]any{"uri": name, "version": version},
			"contentChanges": []map[string]string{{"text": string(text)}}})
	default:
		err = s.c.notify(protocol.MethodTextDocumentDidOpen, map[string]any{
			"textDocument": map[string]any{
				"uri":        name,
				"languageId": language,
				"version":    version,
				"text":       string(text),
			}})
	}
	if err != nil {
		s.unsent(path, known)
	}
	return err
}

// unsent records that a document's text could not be sent, so that the next sync sends it again. A
// server that hung may be reading again by then.
func (s *server) unsent(path string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known {
		s.open.docs[path].hash = ""
		return
	}
	delete(s.open.docs, path)
}

// refresh updates the files that no editor has open. It closes those that no longer exist or exceed
// the limit. The caller holds sending.
func (s *server) refresh(ctx context.Context, done map[string]bool) error {
	for path, pinned := range s.others(done) {
		ref, err := s.hub.opt.Workspace.Resolve("", path)
		if err == nil && pinned {
			f, err := s.hub.opt.Workspace.Read(ctx, ref)
			if err == nil {
				if err := s.put(path, f.LanguageID, f.Text.Data, true); err != nil {
					return err
				}
				continue
			}
		}
		s.mu.Lock()
		delete(s.open.docs, path)
		// If the server publishes diagnostics of this file, its earlier answers are no longer
		// needed.
		if s.problems.diags[path] != nil {
			delete(s.problems.pulled, path)
		}
		s.mu.Unlock()
		id := map[string]string{"uri": string(uri.File(path))}
		if err := s.c.notify(protocol.MethodTextDocumentDidClose,
			map[string]any{"textDocument": id}); err != nil {
			return err
		}
	}
	return nil
}

// others returns the files that are open in the server and are not in the map done. The value is
// true for the files to keep open.
func (s *server) others(done map[string]bool) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]bool{}
	for path, d := range s.open.docs {
		if !done[path] {
			newer := 0
			for _, o := range s.open.docs {
				if o.used > d.used {
					newer++
				}
			}
			out[path] = newer < maxPinned
		}
	}
	return out
}

// changedOnDisk notifies the server of files that were written, created or removed.
func (s *server) changedOnDisk(paths []string) error {
	const created, changed, deleted = 1, 2, 3
	var events []map[string]any
	for _, p := range paths {
		kind := changed
		if !exists(p) {
			kind = deleted
		}
		events = append(events, map[string]any{"uri": string(uri.File(p)), "type": kind})
		if kind == changed {
			events = append(events, map[string]any{"uri": string(uri.File(p)), "type": created})
		}
	}
	return s.c.notify(
		protocol.MethodWorkspaceDidChangeWatchedFiles,
		map[string]any{"changes": events},
	)
}

// FilesChanged notifies the running servers of files that a command or another program changed. It
// does not block.
func (h *Hub) FilesChanged(paths []string) {
	for _, s := range h.running() {
		s.mu.Lock()
		ready := s.settled
		s.mu.Unlock()
		var mine []string
		for _, p := range paths {
			if within(s.root, p) {
				mine = append(mine, p)
			}
		}
		if ready && len(mine) > 0 {
			_ = s.changedOnDisk(mine) // the next request reports a server that hangs
		}
	}
}
