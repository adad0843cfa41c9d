package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/realpath"
)

// ErrOutside means that a path leads out of the workspace folders.
var ErrOutside = errors.New("outside the workspace folders")

// Bounds of a path: what systems allow at most, and more folders than anybody nests.
const (
	maxPath  = 4096
	maxDepth = 200
)

// root is one workspace folder.
type root struct {
	uri  string // the client's spelling, "" if it gave none
	path string // as the client spells it, clean
	real string // symlinks resolved
}

// Ref names a file or document. Two Refs with the same Key are the same thing, however
// they were spelled. The zero Ref names nothing.
type Ref struct {
	Key  string // identity
	Path string // absolute path with symlinks resolved; "" for a document that is no file
	URI  string // the client's own URI while it is open, else one below its folder's
	Rel  string // path relative to its root, with slashes; the URI for what is no file
	root string // resolved root; "" if only the buffer may be used
}

// IsFile reports whether the reference has a place on disk that may be used.
func (r Ref) IsFile() bool { return r.root != "" }

func (r Ref) String() string { return r.Rel }

// SetRoots replaces the workspace folders; it may be called at any time. URIs that are no
// files are ignored, for nothing on disk belongs to them.
func (w *Workspace) SetRoots(uris []string) {
	var roots []root
	for _, u := range uris {
		if path, err := pathFromURI(u, onWindows); err == nil {
			roots = append(roots, root{uri: strings.Clone(u), path: filepath.Clean(path)})
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.roots = roots
}

// resolved returns the root with its symlinks resolved. It is done late, and again for each
// use, because it touches the disk and because a folder may be moved.
func (r root) resolved() root {
	r.real = r.path
	if real, err := canonicalPath(r.path); err == nil {
		r.real = real
	}
	return r
}

// Roots returns the workspace folders' resolved paths, or what stands in for them where no
// folder is open: cwd, else the working directory, unless that is the file system's root
// or the home folder, which nobody means to hand over.
func (w *Workspace) Roots(cwd string) []string {
	var out []string
	for _, r := range w.rootsFor(cwd) {
		out = append(out, r.real)
	}
	return out
}

func (w *Workspace) rootsFor(cwd string) []root {
	w.mu.Lock()
	roots := slices.Clone(w.roots)
	w.mu.Unlock()
	if len(roots) > 0 {
		for i := range roots {
			roots[i] = roots[i].resolved()
		}
		return roots
	}
	dir := cwd
	if dir == "" {
		dir = w.opt.WorkingDir
	}
	if dir == "" || !filepath.IsAbs(dir) {
		return nil
	}
	r := root{path: filepath.Clean(dir)}.resolved()
	home, _ := canonicalPath(w.opt.Home)
	if filepath.Dir(r.real) == r.real || w.opt.Home != "" && pathKey(r.real, onWindows) == pathKey(home, onWindows) {
		return nil
	}
	return []root{r}
}

// Cwd returns the directory that relative paths start from: cwd if it lies in a root, else the first root.
func (w *Workspace) Cwd(cwd string) (string, error) {
	roots := w.rootsFor(cwd)
	if len(roots) == 0 {
		return "", nil
	}
	if cwd == "" {
		return roots[0].path, nil
	}
	if uriScheme(cwd) == "file" {
		p, err := pathFromURI(cwd, onWindows)
		if err != nil {
			return "", err
		}
		cwd = p
	}
	if !filepath.IsAbs(cwd) {
		return "", fmt.Errorf("using %q as working directory: it is not absolute", cwd)
	}
	real, err := canonicalPath(filepath.Clean(cwd))
	if err != nil {
		return "", err
	}
	if _, _, ok := rootOf(roots, real); !ok {
		return "", fmt.Errorf("using %s as working directory: %w", cwd, ErrOutside)
	}
	return filepath.Clean(cwd), nil
}

// Resolve turns a path or URI into a Ref. Relative paths start at cwd. The errors are
// written for the model.
func (w *Workspace) Resolve(cwd, path string) (Ref, error) {
	w.canonicalizeDocs()
	if path == "" {
		return Ref{}, errors.New("resolving a path: it is empty")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return Ref{}, fmt.Errorf("resolving %q: it contains a NUL byte", path)
	}
	if ref, done, err := w.resolveURI(path); done {
		return ref, err
	}
	if uriScheme(path) == "file" {
		p, err := pathFromURI(path, onWindows)
		if err != nil {
			return Ref{}, err
		}
		path = p
	}
	return w.resolvePath(cwd, path)
}

// resolveURI handles what is no file: open documents of any scheme.
func (w *Workspace) resolveURI(s string) (ref Ref, done bool, err error) {
	scheme := uriScheme(s)
	if scheme == "" || scheme == "file" {
		return Ref{}, false, nil
	}
	if strings.HasPrefix(scheme, "vscode-notebook") {
		return Ref{}, true, fmt.Errorf("resolving %s: %w", s, errNotebook)
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

func (w *Workspace) resolvePath(cwd, path string) (Ref, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && w.opt.Home != "" {
		path = filepath.Join(w.opt.Home, rest)
	}
	roots := w.rootsFor(cwd)
	if !filepath.IsAbs(path) {
		dir, err := w.Cwd(cwd)
		if err != nil {
			return Ref{}, err
		}
		if dir == "" {
			return Ref{}, fmt.Errorf("resolving %s: no folder is open, so only documents open in the editor can be used, by their full path", path)
		}
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	if len(path) > maxPath || strings.Count(filepath.ToSlash(path), "/") > maxDepth {
		return Ref{}, fmt.Errorf("resolving %.80s…: the path is too long", path)
	}
	real, err := canonicalPath(path)
	if err != nil {
		return Ref{}, fmt.Errorf("resolving %s: %w", path, err)
	}
	return w.refOfPath(roots, path, real)
}

func (w *Workspace) refOfPath(roots []root, path, real string) (Ref, error) {
	ref := Ref{Key: pathKey(real, onWindows), Path: real}
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.byKey(ref.Key)
	r, rel, ok := rootOf(roots, real)
	switch {
	case ok && kernelPath(real) && !kernelPath(r.real):
		return Ref{}, fmt.Errorf("resolving %s: files of the system's kernel cannot be used", path)
	case ok:
		ref.root, ref.Rel, ref.URI = r.real, filepath.ToSlash(rel), r.uriOf(path, real)
	case d == nil || len(roots) > 0:
		return Ref{}, outside(path, real, roots)
	default:
		ref.Rel = filepath.ToSlash(real)
	}
	if d != nil {
		ref.URI = d.uri
	}
	return ref, nil
}

// refOfDoc names an open document. Caller holds mu; the document's key is known.
func (w *Workspace) refOfDoc(d *document, roots []root) Ref {
	ref := Ref{Key: d.key, URI: d.uri, Rel: d.uri}
	if ref.Key == "" {
		ref.Key = d.lexical
	}
	if d.path == "" {
		return ref
	}
	ref.Path, ref.Rel = d.path, filepath.ToSlash(d.path)
	if !onWindows {
		ref.Path = ref.Key
	}
	if r, rel, ok := rootOf(roots, ref.Path); ok {
		ref.root, ref.Rel = r.real, filepath.ToSlash(rel)
	}
	return ref
}

func outside(path, real string, roots []root) error {
	what := path
	if real != path {
		what = path + ", which leads to " + real + ","
	}
	if len(roots) == 0 {
		return fmt.Errorf("resolving %s: %w: no folder is open, only documents open in the editor can be used", what, ErrOutside)
	}
	names := make([]string, len(roots))
	for i, r := range roots {
		names[i] = r.path
	}
	return fmt.Errorf("resolving %s: %w (%s)", what, ErrOutside, strings.Join(names, ", "))
}

// rootOf finds the innermost root that holds a resolved path.
func rootOf(roots []root, real string) (best root, rel string, ok bool) {
	for _, r := range roots {
		if sub, in := within(r.real, real, onWindows); in && (!ok || len(r.real) > len(best.real)) {
			best, rel, ok = r, sub, true
		}
	}
	return best, rel, ok
}

// uriOf spells the URI of a path below the root the way the client spells the root's.
func (r root) uriOf(path, real string) string {
	rel, ok := within(r.path, path, onWindows)
	if !ok {
		rel, _ = within(r.real, real, onWindows)
	}
	if r.uri == "" {
		return uriFromPath(filepath.Join(r.path, rel), onWindows)
	}
	if rel == "." {
		return r.uri
	}
	return strings.TrimSuffix(r.uri, "/") + "/" + escapePath(filepath.ToSlash(rel))
}

// kernelPath reports whether a path lies in a file system that the kernel makes up.
func kernelPath(p string) bool {
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if _, in := within(dir, p, false); in && !onWindows {
			return true
		}
	}
	return false
}

// canonicalPath resolves the symlinks of the longest part of an absolute path that exists.
// A symlink to nowhere is an error: what would be created lies elsewhere than it seems.
func canonicalPath(path string) (string, error) {
	if path == "" {
		return "", fs.ErrNotExist
	}
	head, tail := path, ""
	for {
		real, err := realpath.Eval(head)
		if err == nil {
			return filepath.Join(real, tail), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if st, serr := os.Lstat(head); serr == nil && st.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%s is a symbolic link to a file that does not exist", head)
		}
		dir := filepath.Dir(head)
		if dir == head {
			return path, nil
		}
		head, tail = dir, filepath.Join(filepath.Base(head), tail)
	}
}
