package path

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/realpath"
)

// ErrOutside means that a path leads out of the workspace folders.
var ErrOutside = errors.New("outside the workspace folders")

// Bounds of a path: the longest path that systems allow, and more folders than any user nests.
const (
	maxPath  = 4096
	maxDepth = 200
)

// Root is one workspace folder.
type Root struct {
	// Real is the absolute path with symbolic links resolved.
	Real string

	uri   string // the client's spelling, "" if the client gave no spelling
	path  string // path as the client spells it, cleaned
	found bool   // whether the links in path could be resolved
}

// RootAt returns a workspace folder for a path whose symbolic links are resolved.
func RootAt(real string) Root { return Root{Real: real, path: real} }

// Ref names a file or document. Two Refs with the same Key name the same thing, regardless of their
// spelling. The zero Ref names nothing. A Ref is an immutable value.
type Ref struct {
	Key  string // identity
	Path string // absolute path with symlinks resolved; "" for a document outside the disk
	URI  string // the client's own URI while it is open, otherwise a URI below its folder's URI
	Rel  string // path relative to its root, with slashes; the URI of a document outside the disk
	Root string // absolute path of its root; "" if only the buffer may be used

	shown string // name relative to the cwd from which it was resolved; "" if that is Rel
	outer string // outermost root that contains the file; "" if that is Root
}

// Outermost returns the outermost root that contains the file, and the file's path relative to it.
// Files are opened there, because a command could replace a root inside another one with a link.
func (r Ref) Outermost() (root, rel string) {
	if rel, ok := Within(r.outer, r.Path); ok && r.outer != "" {
		return r.outer, filepath.ToSlash(rel)
	}
	return r.Root, r.Rel
}

// IsFile reports whether the reference has a path on disk that may be used.
func (r Ref) IsFile() bool { return r.Root != "" }

// String returns the name for messages to the model. The name is relative to the cwd from which the
// reference was resolved, or absolute for a file outside of it.
func (r Ref) String() string {
	if r.shown != "" {
		return r.shown
	}
	return r.Rel
}

// Roots contains the workspace folders of a client. All methods are safe for concurrent use. All
// except NewRoots, Set and AllowAll read the disk, because a folder may be moved at any time.
type Roots struct {
	workingDir, home string

	// realHome returns home with symbolic links resolved. It reads the disk only once, because the
	// home folder of a running process does not move, and each use of a file needs it.
	realHome func() string

	mu      sync.Mutex
	list    []Root
	all     bool            // every wide folder may be a root
	allowed map[string]bool // wide folders that may be roots, by key
	refused map[string]bool // wide folders in list that the user has refused, by Root.path
	// first is where each folder led when it was first used, by Root.path. Otherwise, a command
	// could replace a folder inside another root with a link, and so make any folder a root.
	first map[string]string
}

// NewRoots returns an empty set. workingDir is used while no folder is open. "" means that there is
// no such directory. home is the home folder. It replaces "~/" and is a root only if it is allowed.
func NewRoots(workingDir, home string) *Roots {
	return &Roots{workingDir: workingDir, home: home, allowed: map[string]bool{},
		refused: map[string]bool{}, first: map[string]string{},
		realHome: sync.OnceValue(func() string {
			if real, err := Canonical(home); err == nil {
				return real
			}
			return home
		})}
}

// Set replaces the workspace folders. It may be called at any time, ignores URIs that are not
// files, and does not read the disk.
func (r *Roots) Set(uris []string) {
	var roots []Root
	for _, u := range uris {
		if path, err := FromURI(u); err == nil {
			roots = append(roots, Root{uri: strings.Clone(u), path: filepath.Clean(path)})
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := func(path string) bool {
		return !slices.ContainsFunc(roots, func(root Root) bool { return root.path == path })
	}
	maps.DeleteFunc(r.refused, func(path string, _ bool) bool { return gone(path) })
	for _, root := range r.list {
		if gone(root.path) {
			delete(r.first, root.path)
		}
	}
	r.list = roots
}

// resolved returns the root with its symlinks resolved. It resolves them for each use, because
// resolving reads the disk and because a folder may be moved (see Roots.settled).
func (r Root) resolved() Root {
	r.Real = r.path
	if real, err := Canonical(r.path); err == nil {
		r.Real, r.found = real, true
	}
	return r
}

// settled returns the root with its symlinks resolved, and whether it still leads to the same
// folder as when it was first used.
func (r *Roots) settled(root Root) (Root, bool) {
	root = root.resolved()
	r.mu.Lock()
	defer r.mu.Unlock()
	first, used := r.first[root.path]
	if !used {
		r.first[root.path] = root.Real
	}
	return root, !used || Key(first) == Key(root.Real)
}

// For returns the workspace folders without those that are held back (Undecided) and those that now
// lead to another folder. While no folder is open, it returns cwd, or the working directory if cwd
// is "". In that case, it does not return a wide folder, because no user intends to share one.
func (r *Roots) For(cwd string) []Root {
	roots, _ := r.split(cwd)
	return roots
}

// split returns the result of For, and the folders that are held back.
func (r *Roots) split(cwd string) (roots, held []Root) {
	roots, held, open := r.sorted()
	if open {
		return roots, held
	}
	dir := cwd
	if dir == "" {
		dir = r.workingDir
	}
	if dir == "" || !filepath.IsAbs(dir) {
		return nil, nil
	}
	only, same := r.settled(Root{path: filepath.Clean(dir)})
	if !same || r.wide(only.Real) != "" {
		return nil, nil
	}
	return []Root{only}, nil
}

// Cwd returns the directory that relative paths start from. This is cwd if it is below a workspace
// folder, the first root if cwd is "", or "" if no folder is open. A folder that is held back is
// used if there is no other, so that a session keeps its directory when the folder is allowed.
func (r *Roots) Cwd(cwd string) (string, error) {
	usable, held := r.split(cwd)
	dir, err := startIn(slices.Concat(usable, held), cwd)
	return dir.path, err
}

// startIn is Cwd for roots that were resolved a moment ago. The zero Root means that there is no
// directory.
func startIn(roots []Root, cwd string) (Root, error) {
	if len(roots) == 0 {
		return Root{}, nil
	}
	if cwd == "" {
		return roots[0], nil
	}
	if Scheme(cwd) == "file" {
		p, err := FromURI(cwd)
		if err != nil {
			return Root{}, err
		}
		cwd = p
	}
	if !filepath.IsAbs(cwd) {
		return Root{}, fmt.Errorf("using %q as working directory: it is not absolute", cwd)
	}
	dir := filepath.Clean(cwd)
	for _, root := range roots {
		if root.path == dir && root.found {
			return root, nil
		}
	}
	real, err := Canonical(dir)
	if err != nil {
		return Root{}, err
	}
	if _, _, ok := rootOf(roots, real); !ok {
		return Root{}, fmt.Errorf("using %s as working directory: %w", cwd, ErrOutside)
	}
	return Root{Real: real, path: dir}, nil
}

// Located is a path on disk, whose last elements need not exist. It contains the path's spelling,
// the path with symbolic links resolved, and the roots at that moment.
type Located struct {
	Path, Real string
	Roots      []Root

	held []Root // see Undecided
	dir  Root   // where relative paths start; zero if there is no such directory
}

// Locate finds a path. A relative path starts at cwd. The errors are written for the model.
func (r *Roots) Locate(cwd, path string) (Located, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && r.home != "" {
		path = filepath.Join(r.home, rest)
	}
	var at Located
	at.Roots, at.held = r.split(cwd)
	var wrong error
	at.dir, wrong = startIn(slices.Concat(at.Roots, at.held), cwd)
	if !filepath.IsAbs(path) {
		if wrong != nil {
			return at, wrong
		}
		if at.dir.path == "" {
			return at, fmt.Errorf("resolving %s: no folder is open, so only documents open in "+
				"the editor can be used, by their full path", path)
		}
		path = filepath.Join(at.dir.path, path)
	}
	at.Path = filepath.Clean(path)
	if len(at.Path) > maxPath || strings.Count(filepath.ToSlash(at.Path), "/") > maxDepth {
		return at, fmt.Errorf("resolving %.80s…: the path is too long", at.Path)
	}
	real, err := Canonical(at.Path)
	if err != nil {
		return at, fmt.Errorf("resolving %s: %w", at.Path, err)
	}
	at.Real = real
	return at, nil
}

// Ref returns the reference of a located path. open means that the editor has the file open. This
// is enough if no folder is open, or if the file is in a folder that is held back. The error is
// ErrOutside, or says that the kernel generates the file.
func (at Located) Ref(open bool) (Ref, error) {
	ref := Ref{Key: Key(at.Real), Path: at.Real}
	r, rel, ok := rootOf(at.Roots, at.Real)
	switch {
	case ok && kernelPath(at.Real) && !kernelPath(r.Real):
		return Ref{}, fmt.Errorf("resolving %s: files of the system's kernel cannot be used",
			at.Path)
	case ok:
		ref.Root, ref.Rel, ref.URI = r.Real, filepath.ToSlash(rel), r.uriOf(at.Path, at.Real)
		ref.outer = outermost(at.Roots, at.Real)
	case !open || len(at.Roots) > 0 && !at.isHeld():
		return Ref{}, at.outside()
	default:
		ref.Rel = filepath.ToSlash(at.Real)
	}
	return ref, nil
}

// Spelled returns the path of a reference below its root as the client spells the root. Only the
// root can contain a link.
func (r *Roots) Spelled(ref Ref) string {
	for _, root := range r.For("") {
		if root.Real == ref.Root {
			return filepath.Join(root.path, filepath.FromSlash(ref.Rel))
		}
	}
	return ref.Path
}

// Shown returns the reference of a located path with its name relative to the cwd from which the
// path was located. The name does not change if that cwd cannot be used.
func (at Located) Shown(ref Ref) Ref {
	if at.dir.path == "" {
		return ref
	}
	if rel, ok := Within(at.dir.Real, ref.Path); ok {
		ref.shown = filepath.ToSlash(rel)
	} else {
		ref.shown = filepath.ToSlash(ref.Path)
	}
	return ref
}

// OfDocument returns the reference of an open document. path is "" for a document that is not a
// file. key is the document's canonical key.
func OfDocument(key, uri, path string, roots []Root) Ref {
	ref := Ref{Key: key, URI: uri, Rel: uri}
	if path == "" {
		return ref
	}
	ref.Path, ref.Rel = path, filepath.ToSlash(path)
	if !onWindows {
		ref.Path = ref.Key
	}
	if r, rel, ok := rootOf(roots, ref.Path); ok {
		ref.Root, ref.Rel = r.Real, filepath.ToSlash(rel)
		ref.outer = outermost(roots, ref.Path)
	}
	return ref
}

func (at Located) outside() error {
	what := at.Path
	if at.Real != at.Path {
		what = at.Path + ", which leads to " + at.Real + ","
	}
	switch {
	case at.isHeld() || len(at.Roots) == 0 && len(at.held) > 0:
		return heldBack(what, at.held)
	case len(at.Roots) == 0:
		return fmt.Errorf("resolving %s: %w: no folder is open, "+
			"so only documents that are open in the editor can be used", what, ErrOutside)
	}
	names := make([]string, len(at.Roots))
	for i, r := range at.Roots {
		names[i] = r.path
	}
	return fmt.Errorf("resolving %s: %w (%s)", what, ErrOutside, strings.Join(names, ", "))
}

// isHeld reports whether the path is in a folder that is held back.
func (at Located) isHeld() bool {
	_, _, ok := rootOf(at.held, at.Real)
	return ok
}

// rootOf finds the innermost root that contains a resolved path.
func rootOf(roots []Root, real string) (best Root, rel string, ok bool) {
	for _, r := range roots {
		if sub, in := Within(r.Real, real); in && (!ok || len(r.Real) > len(best.Real)) {
			best, rel, ok = r, sub, true
		}
	}
	return best, rel, ok
}

// outermost returns the outermost root that contains a resolved path.
func outermost(roots []Root, real string) (best string) {
	for _, r := range roots {
		if _, in := Within(r.Real, real); in && (best == "" || len(r.Real) < len(best)) {
			best = r.Real
		}
	}
	return best
}

// uriOf returns the URI of a path below the root, in the client's spelling of the root's URI.
func (r Root) uriOf(path, real string) string {
	rel, ok := Within(r.path, path)
	if !ok {
		rel, _ = Within(r.Real, real)
	}
	if r.uri == "" {
		return ToURI(filepath.Join(r.path, rel))
	}
	if rel == "." {
		return r.uri
	}
	return strings.TrimSuffix(r.uri, "/") + "/" + escapePath(filepath.ToSlash(rel))
}

// kernelPath reports whether a path is in a file system that the kernel generates.
func kernelPath(p string) bool {
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if _, in := within(dir, p, false); in && !onWindows {
			return true
		}
	}
	return false
}

// Canonical resolves the symlinks in the longest existing part of an absolute path. It reads the
// disk and may block as long as the disk does. A dangling symlink is an error, because a new file
// would not be where its path says.
func Canonical(path string) (string, error) {
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
