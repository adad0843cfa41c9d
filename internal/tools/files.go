package tools

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/tools/search"
)

// Limits of the file search.
const (
	fileSearchDefault = 50
	openBoost         = 300 // score of the most recent open document; older ones score less
)

// FileMatch is a file that FileSearch found. A higher Score is better.
type FileMatch struct {
	Path  string // absolute
	URI   string // the URI that the client uses if the document is open, otherwise ""
	Score int
}

// FileSearch finds files of the workspace by a few letters of their names, for completion. It
// includes hidden files, but not ignored files. The first search reads all folders. Later searches
// read only what changed. A limit of 0 means the default.
func (s *Set) FileSearch(ctx context.Context, query string, limit int) []FileMatch {
	if limit <= 0 {
		limit = fileSearchDefault
	}
	open := s.openDocuments()
	var all []FileMatch
	for _, root := range s.d.Workspace.Roots("") {
		x := s.index(root)
		if x == nil {
			break
		}
		boost := map[string]int{}
		base := strings.TrimSuffix(filepath.ToSlash(root), "/") + "/"
		for i, d := range open {
			if rel, ok := strings.CutPrefix(d.Path, base); ok {
				boost[rel] = max(openBoost-10*i, 10)
			}
		}
		for _, h := range x.Find(ctx, query, limit, boost) {
			all = append(all, FileMatch{Path: filepath.FromSlash(base + h.Path), Score: h.Score})
		}
	}
	for i := range all {
		for _, d := range open {
			if d.Path == filepath.ToSlash(all[i].Path) {
				all[i].URI = d.URI
			}
		}
	}
	slices.SortStableFunc(all, func(a, b FileMatch) int { return cmp.Compare(b.Score, a.Score) })
	return all[:min(len(all), limit)]
}

// openDocuments returns the open files, the most recently used first. Path uses slashes.
func (s *Set) openDocuments() (open []FileMatch) {
	for _, d := range s.d.Workspace.Documents() {
		if d.Ref.IsFile() {
			open = append(open, FileMatch{Path: filepath.ToSlash(d.Ref.Path), URI: d.Ref.URI})
		}
	}
	return open
}

func (s *Set) index(root string) *search.Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	x := s.indexes[root]
	if x == nil {
		x = search.NewIndex(root, search.Options{Hidden: true, Symlinks: true,
			Global: s.d.GlobalIgnore})
		s.indexes[root] = x
	}
	return x
}
