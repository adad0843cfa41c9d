package langserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// pullOptions are the options of a server that answers requests for diagnostics.
type pullOptions struct {
	Identifier            string
	InterFileDependencies bool
}

// pulls reports whether the server answers requests for diagnostics, and with which options. The
// caller holds mu.
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

// pull requests the diagnostics of files, and of all other open files if they depend on each other.
// It returns false if ctx ends first or the server refuses.
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

// maxUnheard applies to servers that answer requests for diagnostics. After the daemon has waited
// this many times without receiving a publication, it assumes that the server does not publish.
const maxUnheard = 5

// asked calls pull. If the server also publishes, asked then waits for publications about the
// requested files and about files that are not open.
func (s *server) asked(ctx context.Context, paths ...string) bool {
	ok := s.pull(ctx, paths...)
	if ok && s.mayPublish() {
		s.calm(ctx)
	}
	return ok
}

// mayPublish reports whether a server that answers requests for diagnostics may publish too. The
// server's first publication may come late.
func (s *server) mayPublish() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems.diags) > 0 {
		return true
	}
	s.problems.unheard++
	return s.problems.unheard <= maxUnheard
}

// withOthers returns the given paths. If others is true, it appends the paths of all other open
// files.
func (s *server) withOthers(paths []string, others bool) []string {
	if !others {
		return paths
	}
	s.mu.Lock()
	open := slices.Sorted(maps.Keys(s.open.docs))
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
	d := s.open.docs[path]
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

// report is a server's response for a document, which may include reports for other documents.
type report struct {
	Kind             string
	Items            []diagnostic
	RelatedDocuments map[string]report
}

// full reports whether a report contains diagnostics. gopls sends no kind.
func (r *report) full() bool { return r.Kind == "full" || r.Kind == "" && r.Items != nil }

// takeReport stores a response for a version of a file.
func (s *server) takeReport(path string, version int32, raw json.RawMessage) bool {
	var r report
	if json.Unmarshal(raw, &r) != nil || !r.full() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(path, &version, r.Items)
	for u, related := range r.RelatedDocuments {
		if related.full() {
			s.keep(pathOfURI(u), nil, related.Items)
		}
	}
	s.wake()
	return true
}

// keep stores requested diagnostics of a file. The caller holds mu.
func (s *server) keep(path string, version *int32, items []diagnostic) {
	if s.problems.pulled[path] == nil && len(s.problems.pulled) >= maxDiagnosedFiles {
		return
	}
	if old := s.problems.pulled[path]; version == nil && old != nil {
		version = old.version
	}
	s.problems.seq++
	s.problems.pulled[path] = &published{version: version, seq: s.problems.seq,
		items: items[:min(len(items), maxPerFile)]}
}

// last returns the diagnostics that the server last reported about a file: the response to a
// request, and the publication, unless the publication belongs to an older text. Each diagnostic
// appears once. The result is nil if there are none. The caller holds mu.
func (s *server) last(path string) *published {
	push, pull := s.problems.diags[path], s.problems.pulled[path]
	switch {
	case pull == nil:
		return push
	case push == nil || s.outdated(path, push):
		return pull
	}
	out := &published{version: pull.version, seq: pull.seq, items: slices.Clone(pull.items)}
	for _, d := range push.items {
		if !slices.ContainsFunc(pull.items, d.is) {
			out.items = append(out.items, d)
		}
	}
	return out
}

// outdated reports whether a publication belongs to an older text of an open file. The caller holds
// mu.
func (s *server) outdated(path string, p *published) bool {
	d := s.open.docs[path]
	switch {
	case d == nil:
		return false
	case p.version != nil:
		return *p.version < d.version
	}
	return d.version > 1 && p.seq <= d.since
}

// is reports whether two diagnostics have the same content.
func (d *diagnostic) is(o diagnostic) bool {
	return d.Range == o.Range && d.level() == o.level() && string(d.Code) == string(o.Code) &&
		d.Source == o.Source && d.text() == o.text()
}

// spokenOf returns what the server last reported about each file. The caller holds mu.
func (s *server) spokenOf() map[string]*published {
	out := map[string]*published{}
	for path := range s.problems.diags {
		out[path] = s.last(path)
	}
	for path := range s.problems.pulled {
		out[path] = s.last(path)
	}
	return out
}
