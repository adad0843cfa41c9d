package workspace

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// A pending change belongs to a file and not to its name. When the user or another proposal renames
// the file, the change moves with it, and so do the sessions' read records.

// FileRename is one file or folder of workspace/didRenameFiles.
type FileRename struct{ OldURI, NewURI string }

// rename is a renaming that the workspace has not processed yet.
type rename struct{ from, to string } // absolute paths

// FilesRenamed handles the editor's report that files or folders were renamed. Everything below a
// renamed folder moves too. Like all notifications, it never waits for the disk. The names are
// resolved in the background, at the latest by the next call that needs them.
func (w *Workspace) FilesRenamed(renames []FileRename) {
	w.mu.Lock()
	for _, r := range renames {
		_, from := path.LexicalKey(strings.Clone(r.OldURI))
		_, to := path.LexicalKey(strings.Clone(r.NewURI))
		if from != "" && to != "" && from != to {
			w.renames = append(w.renames, &rename{from, to})
		}
	}
	w.mu.Unlock()
	w.spawn(w.canonicalizeDocs)
}

// followRenames processes the renames in order. A rename that would move a change whose decision is
// running waits for the next call.
func (w *Workspace) followRenames() {
	for {
		w.mu.Lock()
		if len(w.renames) == 0 {
			w.mu.Unlock()
			return
		}
		r := w.renames[0]
		w.mu.Unlock()
		from, errFrom := path.Canonical(r.from)
		to, errTo := path.Canonical(r.to)
		done := true
		if errFrom == nil && errTo == nil {
			done = w.followRename(r, from, to)
		} else {
			w.tookOver(r)
		}
		w.flush()
		if !done {
			return
		}
	}
}

// tookOver drops a rename unless it has already been dropped.
func (w *Workspace) tookOver(r *rename) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renames = slices.DeleteFunc(w.renames, func(o *rename) bool { return o == r })
}

// moved is a change whose file, or whose file's new name, was renamed.
type moved struct {
	c           *change
	was, wasNew Ref  // the change's names before the rename
	ref, newRef *Ref // the change's names after the rename, nil if they are unchanged
}

// followRename moves everything at or below a path. It returns false if it must be tried again.
func (w *Workspace) followRename(r *rename, from, to string) bool {
	moves := w.movesOf(from, to)
	var reported []*proposal
	for _, m := range moves {
		if !slices.Contains(reported, m.c.p) {
			reported = append(reported, m.c.p)
		}
	}
	w.mu.Lock()
	if !slices.Contains(w.renames, r) {
		w.mu.Unlock()
		return true // already done elsewhere
	}
	if !holdAll(reported) {
		w.mu.Unlock()
		return false
	}
	for _, m := range moves {
		w.moveChange(m)
	}
	for _, p := range reported {
		<-p.sem
		w.emit(p, Updated)
	}
	w.renames = slices.DeleteFunc(w.renames, func(o *rename) bool { return o == r })
	w.mu.Unlock()
	w.reads.Rename(from, to)
	for _, p := range reported {
		w.persist(p)
	}
	return true
}

// movesOf finds the changes that a rename moves, and their new locations.
func (w *Workspace) movesOf(from, to string) (moves []moved) {
	w.mu.Lock()
	var all []moved
	for _, list := range w.tracked {
		for _, c := range list {
			if c.p.kind == editProposal {
				all = append(all, moved{c: c, was: c.ref, wasNew: c.newRef})
			}
		}
	}
	w.mu.Unlock()
	roots := w.roots.For("")
	for _, m := range all {
		m.ref, m.newRef = w.movedRef(roots, m.was, from, to), w.movedRef(roots, m.wasNew, from, to)
		if (m.ref != nil || m.newRef != nil) && !m.itself() {
			moves = append(moves, m)
		}
	}
	return moves
}

// movedRef returns a reference's new name, or nil if the name stays or the new name cannot be used.
func (w *Workspace) movedRef(roots []path.Root, ref Ref, from, to string) *Ref {
	rel, ok := path.Within(from, ref.Path)
	if !ok || !ref.IsFile() {
		return nil
	}
	if len(roots) == 0 {
		roots = []path.Root{path.RootAt(ref.Root)}
	}
	name := filepath.Join(to, rel)
	r, err := w.refOf(path.Located{Path: name, Real: name, Roots: roots})
	if err != nil || r.Key == ref.Key {
		return nil
	}
	return &r
}

// itself reports whether the rename is the operation that the change makes.
func (m moved) itself() bool {
	return m.c.op == Rename && (m.ref != nil && m.ref.Key == m.wasNew.Key || m.newRef != nil &&
		m.newRef.Key == m.was.Key)
}

// holdAll locks either all of the proposals or none. Only a goroutine that holds both a proposal's
// sem and mu may change the Refs of the proposal's changes. The caller holds mu.
func holdAll(ps []*proposal) bool {
	for i, p := range ps {
		select {
		case p.sem <- struct{}{}:
		default:
			for _, held := range ps[:i] {
				<-held.sem
			}
			return false
		}
	}
	return true
}

// moveChange moves a change to its new location. The caller holds mu and the proposal's sem.
func (w *Workspace) moveChange(m moved) {
	c := m.c
	if c.ref.Key != m.was.Key || c.newRef.Key != m.wasNew.Key ||
		!slices.Contains(w.tracked[c.ref.Key], c) {
		return
	}
	if m.newRef != nil {
		c.newRef = *m.newRef
	}
	if m.ref == nil {
		return
	}
	c.freeze()
	w.dropTracked(c)
	c.ref = *m.ref
	w.track(c)
	if d := w.byKey(c.ref.Key); d != nil && d.key != "" {
		c.rebase(d.text)
		c.doc, c.text, c.index = d, nil, nil
	}
}
