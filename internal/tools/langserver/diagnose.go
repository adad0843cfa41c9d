package langserver

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Waiting times for diagnostics.
const (
	// diagnosticsWait is how long a question waits for a server to publish the diagnostics of the
	// current text.
	diagnosticsWait = 3 * time.Second
	// quiet is the time without publications after which a server is considered to have finished
	// checking the other files.
	quiet = 100 * time.Millisecond
	// sparing applies to servers that do not report a clean file again. If such a server has
	// published nothing about a file for this time, the file is considered clean.
	sparing = time.Second
)

// diagnostics returns the diagnostics of one file.
func (h *Hub) diagnostics(ctx context.Context, r *render, f *workspace.File) (*tool.Result, error) {
	name := r.path(f.Ref.URI)
	items, a, word, err := h.editorFile(ctx, f.Ref.URI)
	// An editor without a server for the file also shows no diagnostics.
	if err == nil && word == untold && len(items) == 0 {
		_, err = h.askEditor(ctx, Question{Operation: opDocumentSymbol, URI: f.Ref.URI})
		if err != nil && !errors.Is(err, ErrNotOffered) {
			return r.result("%s: the editor shows no diagnostics, and its language server may not be ready: %v", name, err), nil
		}
	}
	switch {
	case err == nil && word == unsettled:
		return r.result("%s", r.ofFile(f, items, a.enc, a.from,
			" (its language server has not reported on this text yet; ask again in a moment)")), nil
	case err == nil:
		return r.result("%s", r.ofFile(f, items, a.enc, a.from, "")), nil
	case !errors.Is(err, ErrNotOffered):
		return nil, err
	}
	s, err := h.ready(ctx, f)
	if err != nil {
		return nil, err
	}
	return h.ownDiagnostics(ctx, r, s, f)
}

func (h *Hub) ownDiagnostics(ctx context.Context, r *render, s *server,
	f *workspace.File) (*tool.Result, error) {
	wait, stop := context.WithTimeout(ctx, min(h.opt.word, h.opt.QueryTimeout))
	defer stop()
	path, name := f.Ref.Path, r.path(f.Ref.URI)
	fresh := s.spoken(wait, f)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	p, gone, busy, doc := s.last(path), s.err, s.busy(), s.open.docs[path]
	version := int32(0)
	if doc != nil {
		version = doc.version
	}
	s.mu.Unlock()
	switch {
	case gone != nil:
		return nil, fmt.Errorf("the language server %s (%s) has stopped: %w",
			s.conf.Name, s.root, gone)
	case doc == nil: // another question found that the file is gone, or that too many are open
		return r.result("%s: not ready: the file was closed while %s was checking it. Ask again if the file still exists.", name, s.conf.Name), nil
	case fresh && p != nil:
		return r.result("%s", r.ofFile(f, p.items, s.encoding(), s.conf.Name, "")), nil
	case p != nil && p.version != nil && *p.version < version:
		note := fmt.Sprintf(" (of an older text: version %d of %d; ask again in a moment)",
			*p.version, version)
		return r.result("%s", r.ofFile(f, p.items, s.encoding(), s.conf.Name, note)), nil
	case busy != "":
		return r.result("%s: not ready: %s is still busy (%s) and has not reported on this text yet. Ask again in a moment.", name, s.conf.Name, busy), nil
	}
	return r.result("%s: no data: %s has published nothing for this text within %v. That does not mean that it is clean.", name, s.conf.Name, h.opt.word), nil
}

// ofFile formats one file's diagnostics. If note is set, the diagnostics may belong to an older
// text.
func (r *render) ofFile(f *workspace.File, items []diagnostic, enc workspace.Encoding, from,
	note string) string {
	name := r.path(f.Ref.URI)
	switch {
	case len(items) == 0 && note == "":
		return fmt.Sprintf("%s: clean: %s reports nothing for the text as it is now.", name, from)
	case len(items) == 0:
		return fmt.Sprintf("%s: not ready: %s reported nothing%s", name, from, note)
	}
	return fmt.Sprintf("%s: %s, by %s%s:\n%s", name, counted(items), from, note,
		r.lines(f.Ref.URI, items, enc, maxPlaces))
}

// lines formats diagnostics, errors first.
func (r *render) lines(uri string, items []diagnostic, enc workspace.Encoding, most int) string {
	items = append([]diagnostic(nil), items...)
	sort.SliceStable(items, func(i, j int) bool { return items[i].level() < items[j].level() })
	var b strings.Builder
	for i, d := range items {
		if i == most {
			fmt.Fprintf(&b, "… and %d more; fix these first and ask again\n", len(items)-i)
			break
		}
		where, line := r.at(uri, d.Range.Start, enc)
		fmt.Fprintf(&b, "%s: %s: %s\n", where, severities[d.level()],
			strings.ReplaceAll(clip.Bytes(r.quoted(uri, d.text()), 500), "\n", " "))
		if line != "" {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String()
}

var severities = [...]string{"", "error", "warning", "information", "hint"}

// level returns the severity. A diagnostic without a severity is an error.
func (d *diagnostic) level() int {
	if d.Severity < 1 || d.Severity > 4 {
		return 1
	}
	return d.Severity
}

func counted(items []diagnostic) string {
	var n [5]int
	for _, d := range items {
		n[d.level()]++
	}
	var parts []string
	for i, name := range severities {
		switch {
		case n[i] == 1:
			parts = append(parts, "1 "+name)
		case n[i] > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n[i], name))
		}
	}
	return strings.Join(parts, ", ")
}

// workspaceDiagnostics returns the diagnostics that the editor shows for the workspace or, if there
// are none, those of the daemon's own servers.
func (h *Hub) workspaceDiagnostics(ctx context.Context, r *render) (*tool.Result, error) {
	all, a, _, err := h.editorAll(ctx, Settle{Timeout: diagnosticsWait})
	if err == nil && len(all) > 0 {
		return r.result("%s", r.ofFiles(all, a.enc, a.from)), nil
	}
	if err != nil && !errors.Is(err, ErrNotOffered) {
		return nil, err
	}
	servers, denied := h.forRoots(ctx)
	if len(servers) == 0 {
		if denied != nil {
			return nil, denied
		}
		if err == nil {
			return r.result("the editor shows no diagnostics for the workspace (files that it has not opened may have some)."), nil
		}
		return nil, errors.New("no data: no language server runs for the workspace folders and no installed server supports their files; ask for the diagnostics of one file")
	}
	var parts []string
	for _, s := range servers {
		parts = append(parts, h.allOf(ctx, r, s))
	}
	if denied != nil {
		parts = append(parts, denied.Error())
	}
	return r.result("%s", strings.Join(parts, "\n")), nil
}

// allOf formats the diagnostics that one server reports about its root.
func (h *Hub) allOf(ctx context.Context, r *render, s *server) string {
	if err := s.started(ctx); err != nil {
		return err.Error()
	}
	if err := s.sync(ctx); err != nil {
		return fmt.Sprintf("the language server %s: %v", s.conf.Name, err)
	}
	wait, stop := context.WithTimeout(ctx, min(h.opt.word, h.opt.QueryTimeout))
	defer stop()
	if _, pulls := s.pullsNow(); pulls {
		s.asked(wait, s.withOthers(nil, true)...)
	} else {
		s.await(wait, func() bool { return s.problems.seq > 0 && len(s.work) == 0 })
		s.calm(wait)
	}
	s.mu.Lock()
	gone, busy, spoke := s.err, s.busy(), s.problems.seq > 0
	all := s.reports()
	s.mu.Unlock()
	switch {
	case gone != nil:
		return fmt.Sprintf("the language server %s (%s) has stopped: %v", s.conf.Name, s.root, gone)
	case busy != "":
		return fmt.Sprintf("not ready: %s is still busy (%s); so far: %s", s.conf.Name, busy,
			r.ofFiles(all, s.encoding(), s.conf.Name))
	case !spoke:
		return fmt.Sprintf("no data: %s has published nothing yet; ask for the diagnostics of one file", s.conf.Name)
	}
	return r.ofFiles(all, s.encoding(), s.conf.Name)
}

// spoken waits until the server has reported diagnostics for the newest text of each of these
// files. It returns false if this did not happen in time. A server that sends no versions may not
// repeat that a file is clean. For such a server, spoken also returns true once the server has
// answered a question about the first file and has published nothing for the duration of sparing.
func (s *server) spoken(ctx context.Context, files ...*workspace.File) bool {
	all := func() bool {
		for _, f := range files {
			if !s.fresh(f.Ref.Path) {
				return false
			}
		}
		return true
	}
	if _, pulls := s.pullsNow(); pulls {
		return s.asked(ctx, pathsOf(files)...)
	}
	if !s.spares(files) {
		return s.await(ctx, all)
	}
	if s.offers(methods[opDocumentSymbol][1]) {
		if _, err := s.ask(ctx, opDocumentSymbol, place{file: files[0]}); err != nil {
			return false
		}
	}
	silence, stop := context.WithTimeout(ctx, s.hub.opt.sparing)
	defer stop()
	return s.await(silence, all) || ctx.Err() == nil && s.gone() == nil
}

func pathsOf(files []*workspace.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Ref.Path)
	}
	return out
}

// spares reports whether a server that sends no versions last reported all these files as clean.
func (s *server) spares(files []*workspace.File) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		if p := s.problems.diags[f.Ref.Path]; p == nil || p.version != nil || len(p.items) > 0 {
			return false
		}
	}
	return len(files) > 0
}

func (s *server) gone() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// calm waits until the server has published nothing for the duration quiet. It waits for each half
// of quiet separately: if the system paused this process, one half may pass before the process
// reads the messages that have already arrived.
func (s *server) calm(ctx context.Context) {
	for silent := 0; silent < 2 && ctx.Err() == nil; silent++ {
		s.mu.Lock()
		seq := s.problems.seq
		s.mu.Unlock()
		moment, stop := context.WithTimeout(ctx, s.hub.opt.quiet/2)
		if s.await(moment, func() bool { return s.problems.seq != seq }) {
			silent = -1
		}
		stop()
	}
}

// ofFiles formats the diagnostics of many files, without hints.
func (r *render) ofFiles(all map[string][]diagnostic, enc workspace.Encoding, from string) string {
	var uris []string
	total := 0
	for uri, items := range all {
		kept := items[:0:0]
		for _, d := range items {
			if d.level() <= 3 {
				kept = append(kept, d)
			}
		}
		if all[uri] = kept; len(kept) > 0 {
			uris = append(uris, uri)
			total += len(kept)
		}
	}
	if total == 0 {
		return fmt.Sprintf("clean: %s reports nothing in the %d files that it reports on.", from,
			len(all))
	}
	sort.Strings(uris)
	var b strings.Builder
	fmt.Fprintf(&b, "%d diagnostics in %d files, by %s:\n", total, len(uris), from)
	left := maxPlaces
	for _, uri := range uris {
		if left <= 0 {
			fmt.Fprintf(&b, "… and more in %s and others; ask for one file\n", r.path(uri))
			break
		}
		b.WriteString(r.lines(uri, all[uri], enc, left))
		left -= len(all[uri])
	}
	return b.String()
}
