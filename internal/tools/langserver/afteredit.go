package langserver

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// maxNews limits the number of diagnostics in the result of one edit.
const maxNews = 20

// AfterEdit describes the errors and warnings that an edit caused, in the edited files and in
// others, or returns "" if there are none. It waits for the servers for at most the time that
// Options.AfterEdit returns, and starts only those that the settings name. session made the edit,
// and before is the result of BeforeEdit.
func (h *Hub) AfterEdit(
	ctx context.Context, session string, paths []string, before Shown,
) string {
	if h.opt.AfterEdit == nil {
		return ""
	}
	on, wait := h.opt.AfterEdit()
	if !on {
		return ""
	}
	ctx = context.WithValue(ctx, callKey{}, calling{session: session})
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	byServer := map[*server][]string{}
	for _, p := range paths {
		if s, err := h.serverFor(ctx, p, false); err == nil && s != nil {
			byServer[s] = append(byServer[s], p)
		}
	}
	if len(byServer) == 0 {
		return h.afterEditor(ctx, paths, before, wait)
	}
	var out []string
	for s, mine := range byServer {
		if text := h.afterOwn(ctx, s, mine); text != "" {
			out = append(out, text)
		}
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

// afterOwn describes what an edit broke according to one of the daemon's own servers.
func (h *Hub) afterOwn(ctx context.Context, s *server, paths []string) string {
	if err := s.started(ctx); err != nil {
		if errors.Is(err, errNotReady) {
			return fmt.Sprintf("diagnostics: %s is still starting; problems that this edit causes will be reported later", s.conf.Name)
		}
		return ""
	}
	var files []*workspace.File
	for _, p := range paths {
		ref, err := h.opt.Workspace.Resolve("", p)
		if err != nil {
			continue
		}
		if f, err := h.opt.Workspace.Read(ctx, ref); err == nil {
			files = append(files, f)
		}
	}
	s.editing.Lock()
	defer s.editing.Unlock()
	s.mu.Lock()
	if s.problems.reported == nil {
		s.problems.reported = countAll(s.reports())
	}
	before := s.problems.reported
	s.mu.Unlock()
	if s.sync(ctx, files...) != nil || s.changedOnDisk(paths) != nil {
		return fmt.Sprintf("diagnostics: %s does not respond; the problems that this edit causes are not known", s.conf.Name)
	}
	fresh := s.spoken(ctx, files...)
	if _, pulls := s.pullsNow(); fresh && !pulls {
		s.calm(ctx)
	}
	return h.newsOf(ctx, s, before, fresh)
}

// newsOf describes the new diagnostics, and stores the current diagnostics for the next comparison.
func (h *Hub) newsOf(ctx context.Context, s *server, before map[string]int, fresh bool) string {
	s.mu.Lock()
	all := s.reports()
	s.problems.reported = countAll(all)
	gone := s.err
	s.mu.Unlock()
	if gone != nil {
		return fmt.Sprintf("diagnostics: the language server %s has stopped: %v", s.conf.Name, gone)
	}
	text := h.news(context.WithoutCancel(ctx), all, before, s.encoding(), s.conf.Name)
	if !fresh {
		text += fmt.Sprintf("diagnostics: %s has not answered for this version yet; ask lsp diagnostics later", s.conf.Name)
	}
	return strings.TrimRight(text, "\n")
}

// reports returns the diagnostics that the server reports, by URI. The caller holds mu.
func (s *server) reports() map[string][]diagnostic {
	all := map[string][]diagnostic{}
	for path, p := range s.spokenOf() {
		all[string(uri.File(path))] = p.items
	}
	return all
}

// key identifies a diagnostic without its position, which edits shift.
func (d *diagnostic) key(path string) string {
	return fmt.Sprintf("%s\x00%d\x00%s\x00%s", path, d.level(), d.Code, d.text())
}

// news describes the errors and warnings that occur more often than before.
func (h *Hub) news(ctx context.Context, all map[string][]diagnostic, before map[string]int,
	enc workspace.Encoding, from string) string {
	left := map[string]int{}
	for k, n := range before {
		left[k] = n
	}
	var uris []string
	fresh := map[string][]diagnostic{}
	total := 0
	for u, items := range all {
		for _, d := range items {
			key := d.key(pathOfURI(u))
			if left[key]--; d.level() > 2 || left[key] >= 0 {
				continue
			}
			fresh[u] = append(fresh[u], d)
			total++
		}
		if len(fresh[u]) > 0 {
			uris = append(uris, u)
		}
	}
	if total == 0 {
		return ""
	}
	sort.Strings(uris)
	r := &render{h: h, ctx: ctx}
	var b strings.Builder
	fmt.Fprintf(&b, "new diagnostics after this edit, by %s:\n", from)
	room := maxNews
	for _, u := range uris {
		if room <= 0 {
			break
		}
		b.WriteString(r.lines(u, fresh[u][:min(room, len(fresh[u]))], enc, room))
		room -= len(fresh[u])
	}
	if total > maxNews {
		fmt.Fprintf(&b, "… and %d more; to list them, call lsp with the operation workspaceDiagnostics\n", total-maxNews)
	}
	return b.String()
}
