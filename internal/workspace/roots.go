package workspace

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// SetRoots replaces the workspace folders. It may be called at any time. It ignores URIs that are
// not files, because they have no folder on disk.
func (w *Workspace) SetRoots(uris []string) { w.roots.Set(uris) }

// UndecidedFolders returns the workspace folders that are held back until the user allows them.
// These are the root of the file system, the home folder and the folders that contain it. Only
// those of their files that are open in the editor can be used. A folder that the user has refused
// is omitted until it is removed from the workspace folders and added again.
func (w *Workspace) UndecidedFolders() (folders []string) {
	for _, r := range w.roots.Undecided() {
		folders = append(folders, r.Real)
	}
	return folders
}

// HoldsBack reports whether a folder is held back or was refused.
func (w *Workspace) HoldsBack(folder string) bool {
	return folder != "" && w.roots.HoldsBack(folder)
}

// AllowFolder makes a folder that is held back a root from now on. folder is a URI or an absolute
// path.
func (w *Workspace) AllowFolder(folder string) { w.roots.Allow(folder) }

// AllowEveryFolder makes every folder that is held back a root, including folders that are added
// later.
func (w *Workspace) AllowEveryFolder() { w.roots.AllowAll() }

// RefuseFolder records that the user does not allow a folder.
func (w *Workspace) RefuseFolder(folder string) { w.roots.Refuse(folder) }

// WideFolder describes a folder that is unlikely to be a workspace, such as "your home folder". It
// returns "" for any other folder. It reads the disk.
func WideFolder(folder, home string) string {
	for _, p := range []*string{&folder, &home} {
		if real, err := path.Canonical(*p); err == nil {
			*p = real
		}
	}
	return path.Wide(folder, home)
}

// Roots returns the resolved paths of the workspace folders, except those that are held back. If no
// folder is open, it returns cwd, or otherwise the working directory, unless that is a wide folder,
// which no user intends to share.
func (w *Workspace) Roots(cwd string) []string {
	var out []string
	for _, r := range w.roots.For(cwd) {
		out = append(out, r.Real)
	}
	return out
}

// Spelled returns the path of a file, with its workspace folder as the client spells it. Only that
// part of the path can contain links.
func (w *Workspace) Spelled(ref Ref) string { return w.roots.Spelled(ref) }

// Cwd returns the directory that relative paths start from: cwd, which must be in a root, or the
// first root if cwd is "". If no folder is open, Cwd returns "".
func (w *Workspace) Cwd(cwd string) (string, error) { return w.roots.Cwd(cwd) }

// Resolve turns a path or URI into a Ref. Relative paths start at cwd. The errors are
// written for the model.
func (w *Workspace) Resolve(cwd, name string) (Ref, error) {
	w.canonicalizeDocs()
	if name == "" {
		return Ref{}, errors.New("resolving a path: it is empty")
	}
	if strings.IndexByte(name, 0) >= 0 {
		return Ref{}, fmt.Errorf("resolving %q: it contains a NUL byte", name)
	}
	if ref, done, err := w.resolveURI(name); done {
		return ref, err
	}
	if path.Scheme(name) == "file" {
		p, err := path.FromURI(name)
		if err != nil {
			return Ref{}, err
		}
		name = p
	}
	return w.resolvePath(cwd, name)
}

// resolveURI resolves open documents with schemes other than file. done is false if s is a file URI
// or a path.
func (w *Workspace) resolveURI(s string) (ref Ref, done bool, err error) {
	scheme := path.Scheme(s)
	if scheme == "" || scheme == "file" {
		return Ref{}, false, nil
	}
	if strings.HasPrefix(scheme, "vscode-notebook") {
		return Ref{}, true, fmt.Errorf("resolving %s: %w", s, path.ErrNotebook)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.document(s); d != nil {
		return w.refOfDoc(d, nil), true, nil
	}
	if strings.Contains(s, "://") || scheme == "untitled" {
		return Ref{}, true, fmt.Errorf("resolving %s: no such document is open in the editor", s)
	}
	return Ref{}, false, nil
}

func (w *Workspace) resolvePath(cwd, name string) (Ref, error) {
	at, err := w.roots.Locate(cwd, name)
	if err != nil {
		return Ref{}, err
	}
	ref, err := w.refOf(at)
	if err == nil && cwd != "" && ref.IsFile() {
		ref = at.Shown(ref)
	}
	return ref, err
}

func (w *Workspace) refOf(at path.Located) (Ref, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.byKey(path.Key(at.Real))
	ref, err := at.Ref(d != nil)
	if err == nil && d != nil {
		ref.URI = d.uri
	}
	return ref, err
}

// refOfDoc returns the reference of an open document. The document's key is known. The caller holds
// mu.
func (w *Workspace) refOfDoc(d *document, roots []path.Root) Ref {
	return path.OfDocument(orElse(d.key, d.lexical), d.uri, d.path, roots)
}
