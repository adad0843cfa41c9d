package lsp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// pullOptions are what a server offers that is asked for diagnostics.
type pullOptions struct {
	Identifier            string
	InterFileDependencies bool
}

// pulls says whether and how the server is asked for diagnostics. Caller holds mu.
func (s *server) pulls() (pullOptions, bool) {
	var o pullOptions
	raw := s.caps["diagnosticProvider"]
	offered := len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &o) == nil
	return o, offered
}

func (s *server) pullsNow() (pullOptions, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pulls()
}

// pull asks for the diagnostics of files, and of all other open ones where they depend on each other; false if ctx ends
// first or the server refuses.
func (s *server) pull(ctx context.Context, paths ...string) bool {
	o, offered := s.pullsNow()
	if !offered {
		return false
	}
	ok := true
	for _, path := range s.withOthers(paths, o.InterFileDependencies) {
		ok = s.pullOne(ctx, path, o.Identifier) && ok
	}
	return ok
}

// withOthers are these open files and, if so, all others behind them.
func (s *server) withOthers(paths []string, others bool) []string {
	if !others {
		return paths
	}
	s.mu.Lock()
	open := slices.Sorted(maps.Keys(s.docs))
	s.mu.Unlock()
	out := slices.Clone(paths)
	for _, path := range open {
		if !slices.Contains(paths, path) {
			out = append(out, path)
		}
	}
	return out
}

func (s *server) pullOne(ctx context.Context, path, identifier string) bool {
	s.mu.Lock()
	d := s.docs[path]
	if d == nil {
		s.mu.Unlock()
		return false
	}
	version := d.version
	s.mu.Unlock()
	params := map[string]any{"textDocument": map[string]any{"uri": string(uri.File(path))}}
	if identifier != "" {
		params["identifier"] = identifier
	}
	raw, err := s.call(ctx, protocol.MethodTextDocumentDiagnostic, params)
	return err == nil && s.takeReport(path, version, raw)
}

// report is what a server answers for a document, and beside it for others.
type report struct {
	Kind             string
	Items            []diagnostic
	RelatedDocuments map[string]report
}

// takeReport keeps an answer for a version of a file.
func (s *server) takeReport(path string, version int32, raw json.RawMessage) bool {
	var r report
	if json.Unmarshal(raw, &r) != nil || r.Kind != "full" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(path, &version, r.Items)
	for u, related := range r.RelatedDocuments {
		if related.Kind == "full" {
			s.keep(pathOfURI(u), nil, related.Items)
		}
	}
	s.wake()
	return true
}

// keep keeps pulled diagnostics of a file. Caller holds mu.
func (s *server) keep(path string, version *int32, items []diagnostic) {
	if s.pulled[path] == nil && len(s.pulled) >= maxDiagnosedFiles {
		return
	}
	if old := s.pulled[path]; version == nil && old != nil {
		version = old.version
	}
	s.seq++
	s.pulled[path] = &published{version: version, seq: s.seq, items: items[:min(len(items), maxPerFile)]}
}

// last is what the server said last of a file: what it published and what it was asked for; nil if nothing. Caller holds mu.
func (s *server) last(path string) *published {
	push, pull := s.diags[path], s.pulled[path]
	switch {
	case pull == nil:
		return push
	case push == nil:
		return pull
	}
	return &published{version: pull.version, seq: pull.seq, items: append(slices.Clone(push.items), pull.items...)}
}

// spokenOf are the files that the server said anything of. Caller holds mu.
func (s *server) spokenOf() map[string]*published {
	out := map[string]*published{}
	for path := range s.diags {
		out[path] = s.last(path)
	}
	for path := range s.pulled {
		out[path] = s.last(path)
	}
	return out
}
