package search

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Limits of a walk.
const (
	maxWorkers    = 4
	maxAhead      = 2048      // maximum number of folders that are read in advance
	maxDirEntries = 1_000_000 // maximum entries of one folder; further entries are skipped
)

// Options configures what a walk skips. The zero value works like ripgrep: it skips hidden files
// unless an ignore file re-includes them, files that ignore files list, and symbolic links.
type Options struct {
	// Hidden includes names that begin with a dot, even if no ignore file re-includes them, but
	// never .git.
	Hidden   bool
	All      bool   // include files that ignore files list
	Symlinks bool   // include links that lead to a regular file
	Global   string // the user's own git ignore file, "" for none
	forced   int    // workers, for tests; 0: one per processor, at most 4
}

// ErrSkip, returned by a visit function, ends the walk without an error.
var ErrSkip = errors.New("the rest of the walk is not needed")

// Walk reads root and the folders below it, and passes the files of each folder to visit from the
// calling goroutine. dir is relative to root and slash-separated, "" for root itself. files
// contains sorted names. A folder that cannot be read is skipped, except root.
func Walk(ctx context.Context, root string, opt Options,
	visit func(dir string, files []string) error) error {
	root = strings.TrimSuffix(slashed(root), "/")
	w := &walker{root: root, opt: opt}
	w.wake = sync.NewCond(&w.mu)
	first := &folder{done: make(chan struct{})}
	if !opt.All {
		first.ignores = parentIgnores(root+"/.", opt.Global)
	}
	first.claimed = true
	w.load(first)
	if first.err != nil {
		return first.err
	}
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	for range opt.workers() - 1 {
		helpers.Go(w.prefetch)
	}
	stop := context.AfterFunc(ctx, w.end)
	defer func() { cancel(); stop(); w.end(); helpers.Wait() }()
	return w.emit(ctx, first, visit)
}

func (o Options) workers() int {
	if o.forced > 0 {
		return o.forced
	}
	return min(runtime.GOMAXPROCS(0), maxWorkers)
}

// walker reads folders before they are visited. It reads the folders that it found last first,
// because the visits are depth first and reach these folders next.
type walker struct {
	root string
	opt  Options

	mu    sync.Mutex
	wake  *sync.Cond
	stack []*folder
	ahead int // number of loaded folders that are not visited yet
	ended bool
}

type folder struct {
	rel     string
	ignores *ignores // rules of the parent until the folder is loaded
	claimed bool     // set by the goroutine that loads the folder; guarded by walker.mu
	done    chan struct{}
	files   []string
	subs    []*folder
	err     error
}

func (w *walker) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.wake.Broadcast()
}

func (w *walker) prefetch() {
	for {
		w.mu.Lock()
		for !w.ended && (len(w.stack) == 0 || w.ahead >= maxAhead) {
			w.wake.Wait()
		}
		if w.ended {
			w.mu.Unlock()
			return
		}
		f := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		free := !f.claimed
		f.claimed = true
		w.mu.Unlock()
		if free {
			w.load(f)
		}
	}
}

func (w *walker) claim(f *folder) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	free := !f.claimed
	f.claimed = true
	return free
}

func (w *walker) emit(ctx context.Context, first *folder,
	visit func(string, []string) error) error {
	todo := []*folder{first}
	for len(todo) > 0 {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w.claim(f) {
			w.load(f)
		}
		<-f.done
		w.visited()
		if err := visit(f.rel, f.files); err != nil {
			if errors.Is(err, ErrSkip) {
				return nil
			}
			return err
		}
		for _, sub := range slices.Backward(f.subs) {
			todo = append(todo, sub)
		}
	}
	return nil
}

func (w *walker) visited() {
	w.mu.Lock()
	w.ahead--
	full := w.ahead == maxAhead-1
	w.mu.Unlock()
	if full {
		w.wake.Broadcast()
	}
}

// load reads a claimed folder and queues its sub-folders for reading in advance.
func (w *walker) load(f *folder) {
	l := w.opt.list(w.root, f.rel, f.ignores)
	f.files, f.err = l.files, l.err
	for _, sub := range l.subs {
		f.subs = append(f.subs, &folder{rel: dirPrefix(f.rel) + sub, ignores: l.ignores,
			done: make(chan struct{})})
	}
	w.mu.Lock()
	w.ahead++
	for _, sub := range slices.Backward(f.subs) {
		w.stack = append(w.stack, sub)
	}
	w.mu.Unlock()
	if len(f.subs) > 0 {
		w.wake.Signal()
	}
	close(f.done)
}

// listing is the content of a folder without the skipped entries.
type listing struct {
	files, subs []string // names, sorted
	ignores     *ignores // rules that apply in the folder
	err         error
}

// list reads the folder rel below root. ig are the ignore files of its parent.
func (o *Options) list(root, rel string, ig *ignores) (l listing) {
	path := root
	if rel != "" {
		path += "/" + rel
	}
	entries, err := readDir(cmp.Or(path, "/"))
	if err != nil && len(entries) == 0 {
		l.err = err
	}
	if !o.All {
		ig = ig.enter(path, o.Global, func(name string) bool {
			_, ok := slices.BinarySearchFunc(entries, name,
				func(e entry, n string) int { return strings.Compare(e.name, n) })
			return ok
		})
	}
	l.ignores = ig
	for _, e := range entries {
		l.add(o, path, e)
	}
	return l
}

// add adds an entry to the files or to the sub-folders, or skips it.
func (l *listing) add(o *Options, path string, e entry) {
	if e.name == ".git" || e.kind == kindOther {
		return
	}
	verdict := l.ignores.decide(path+"/"+e.name, e.name, e.kind == kindDir)
	if verdict == ignored || verdict == undecided && !o.Hidden && e.name[0] == '.' {
		return
	}
	switch e.kind {
	case kindFile:
		l.files = append(l.files, e.name)
	case kindDir:
		l.subs = append(l.subs, e.name)
	case kindLink:
		if o.Symlinks {
			if info, err := os.Stat(path + "/" + e.name); err == nil && info.Mode().IsRegular() {
				l.files = append(l.files, e.name)
			}
		}
	}
}

type entry struct {
	name string
	kind entryKind
}

type entryKind uint8

const (
	kindOther entryKind = iota
	kindFile
	kindDir
	kindLink
)

// readDir returns a folder's entries sorted by name. With an error, it also returns the entries
// that it could read, in no particular order.
func readDir(path string) ([]entry, error) {
	dir, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var entries []entry
	for len(entries) < maxDirEntries {
		part, err := dir.ReadDir(10_000)
		for _, e := range part {
			entries = append(entries, entry{e.Name(), kindOf(e.Type())})
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return entries, err
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, nil
}

func kindOf(m fs.FileMode) entryKind {
	switch m.Type() {
	case 0:
		return kindFile
	case fs.ModeDir:
		return kindDir
	case fs.ModeSymlink:
		return kindLink
	}
	return kindOther
}

func slashed(path string) string {
	if os.PathSeparator == '/' {
		return path
	}
	return strings.ReplaceAll(path, string(os.PathSeparator), "/")
}
