package workspace

import (
	"hash/maphash"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/checkpoint"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// Command records which files a shell command changes, because no checkpoint covers them. It checks
// the open documents and the files that the session has read or edited, and uses the reports of the
// editor's file watchers while the command runs. It never walks the tree.
type Command struct {
	w       *Workspace
	session string
	turn    string
	began   time.Time
	before  map[string]fileMark // by path

	// The fields below are guarded by Workspace.mu.
	watched map[string]bool     // paths
	written map[string]fileMark // texts that accepted changes wrote to files in the meantime
	saved   map[string]uint64   // hashes of the texts that the user saved in the meantime
}

type fileMark struct {
	size  int64
	mtime time.Time
}

// BeginCommand starts recording. Call End when the command has ended.
func (w *Workspace) BeginCommand(sessionID, turnID string) *Command {
	c := &Command{
		w: w, session: sessionID, turn: turnID, began: w.opt.Now(),
		before: map[string]fileMark{}, watched: map[string]bool{}, written: map[string]fileMark{},
		saved: map[string]uint64{},
	}
	for _, path := range w.knownPaths(sessionID) {
		c.before[path] = markOf(path)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commands[c] = true
	return c
}

// RunsCommands reports whether a command or a background job is running.
func (w *Workspace) RunsCommands() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.commands) > 0
}

func (w *Workspace) knownPaths(sessionID string) []string {
	w.canonicalizeDocs()
	var out []string
	w.mu.Lock()
	for _, d := range w.docs {
		if d.path != "" {
			out = append(out, d.path)
		}
	}
	w.mu.Unlock()
	for _, key := range w.reads.Keys(sessionID) {
		if path.Scheme(key) == "" {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func markOf(path string) fileMark {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return fileMark{size: -1}
	}
	return fileMark{st.Size(), st.ModTime()}
}

// End returns the files that only the command can have changed (see look), as paths relative to
// their roots. It also records in the session's checkpoint that these files are not covered.
func (c *Command) End() []string {
	w := c.w
	w.mu.Lock()
	delete(w.commands, c)
	w.mu.Unlock()
	paths, changed := c.look()
	w.onDisk(paths)
	if len(changed) > 0 {
		w.checkpoints.NotCovered(checkpoint.Turn{Session: c.session, ID: c.turn}, c.began, changed)
	}
	return changed
}

// Changed returns the paths that End would return at this moment.
func (c *Command) Changed() []string {
	_, changed := c.look()
	return changed
}

// look returns the paths that changed, and those that only the command can have changed, because no
// accepted change and no save by the user explains the change.
func (c *Command) look() (paths, changed []string) {
	w := c.w
	w.mu.Lock()
	paths = slices.Collect(maps.Keys(c.watched))
	written, saved := maps.Clone(c.written), maps.Clone(c.saved)
	w.mu.Unlock()
	for path, mark := range c.before {
		if markOf(path) != mark {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	for _, path := range paths {
		ref, err := w.Resolve("", path)
		if err != nil || w.isOwnWrite(c.session, ref) {
			continue
		}
		if mark, ok := written[path]; ok && mark == markOf(path) {
			continue
		}
		if hash, ok := saved[path]; ok && diskIs(ref, hash) {
			continue
		}
		changed = append(changed, ref.Rel)
	}
	return paths, changed
}

// diskIs reports whether the content of a file has the given hash.
func diskIs(ref Ref, hash uint64) bool {
	if !ref.IsFile() {
		return false
	}
	f, err := readDisk(ref)
	return err == nil && maphash.Bytes(docSeed, f.Text.Data) == hash
}

// wrote records, for each running command, the content that an accepted change left in its files.
func (w *Workspace) wrote(targets []*target) {
	w.mu.Lock()
	running := len(w.commands)
	w.mu.Unlock()
	if running == 0 {
		return
	}
	marks := map[string]fileMark{}
	for _, t := range targets {
		for _, ref := range []Ref{t.c.ref, t.c.newRef} {
			if t.made() && ref.IsFile() {
				marks[ref.Path] = markOf(ref.Path)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.commands {
		maps.Copy(c.written, marks)
	}
}

// isOwnWrite reports whether the file has the content that the session's own edit left. A watcher
// may report that edit late.
func (w *Workspace) isOwnWrite(sessionID string, ref Ref) bool {
	r, ok := w.reads.Get(sessionID, ref.Key)
	if !ok || !r.Own || !ref.IsFile() {
		return false
	}
	f, err := readDisk(ref)
	return err == nil && HashOf(f.Text.Data) == r.SHA
}

// FileEvent is one event of workspace/didChangeWatchedFiles.
type FileEvent struct {
	URI     string
	Deleted bool
}

// WatchedFilesChanged handles the editor's file events. If an open document has unsaved changes and
// another program changed its file, the user is notified. If the document has no unsaved changes,
// the editor reloads it, or the next Read notices the difference.
func (w *Workspace) WatchedFilesChanged(events []FileEvent) {
	var open, all []string
	w.mu.Lock()
	for _, e := range events {
		_, file := path.LexicalKey(e.URI)
		if file == "" {
			continue
		}
		all = append(all, file)
		for c := range w.commands {
			c.watched[file] = true
		}
		if w.document(e.URI) != nil {
			open = append(open, file)
		}
	}
	w.mu.Unlock()
	if len(open) > 0 {
		w.spawn(func() { w.lookAtDisk(open) })
	}
	w.docEvents.notify()
	w.onDisk(all)
}

// lookAtDisk reads the files of open documents with unsaved changes, to find out whether the files
// changed.
func (w *Workspace) lookAtDisk(paths []string) {
	for _, path := range paths {
		ref, err := w.Resolve("", path)
		if err != nil {
			continue
		}
		w.mu.Lock()
		d := w.byKey(ref.Key)
		unsaved := d != nil && maphash.Bytes(docSeed, d.text) != d.synced
		w.mu.Unlock()
		if unsaved {
			_, _ = w.Read(w.ctx, ref)
		}
	}
}
