package langserver

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

// pull asks for the diagnostics of files, and of all other open ones where they depend on each
// other; false if ctx ends first or the server refuses.
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

// maxUnheard is how often a server that is asked is also listened to in vain before it counts as
// one that publishes nothing.
const maxUnheard = 5

// asked is pull. If the server also publishes, it then waits for the publications: for files that
// are not open and for files whose text was requested.
func (s *server) asked(ctx context.Context, paths ...string) bool {
	ok := s.pull(ctx, paths...)
	if ok && s.mayPublish() {
		s.calm(ctx)
	}
	return ok
}

// mayPublish says whether a server that is asked publishes too, as far as it is known: its first
// publication may come late.
func (s *server) mayPublish() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems.diags) > 0 {
		return true
	}
	s.problems.unheard++
	return s.problems.unheard <= maxUnheard
}

// withOthers are these open files and, if so, all others behind them.
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

// report is a server's answer for a document, which may include reports for other documents.
type report struct {
	Kind             string
	Items            []diagnostic
	RelatedDocuments map[string]report
}

// full says whether a report holds diagnostics. gopls names no kind.
func (r *report) full() bool { return r.Kind == "full" || r.Kind == "" && r.Items != nil }

// takeReport keeps an answer for a version of a file.
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

// keep keeps pulled diagnostics of a file. Caller holds mu.
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

// last returns what the server last reported about a file: the answer to a request, and what the
// server published, unless that is for an older text. Each diagnostic appears once. It returns nil
// if there is nothing. The caller holds mu.
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

// outdated says whether a publication is of an older text of an open file than it has now. Caller
// holds mu.
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

// is says whether two diagnostics tell the same.
func (d *diagnostic) is(o diagnostic) bool {
	return d.Range == o.Range && d.level() == o.level() && string(d.Code) == string(o.Code) &&
		d.Source == o.Source && d.text() == o.text()
}

// spokenOf are the files that the server said anything of. Caller holds mu.
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
