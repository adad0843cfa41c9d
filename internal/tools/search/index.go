package search

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of an index.
const (
	// maxIndexed is the maximum number of files. Files that come later in the walk are not found.
	maxIndexed  = 500_000
	refreshWait = 10 * time.Millisecond // how long a query waits for changes to be read
	// If a folder was changed less than this time before it was read, it is read again.
	racyAge = 100 * time.Millisecond
)

// Index finds files below a root by a few letters of their names. The first query builds the index.
// Each later query starts an update, which finds the folders that have changed and reads only
// those. The query waits only briefly for the update. An Index is safe for concurrent use. The
// caller must close it.
type Index struct {
	root  string
	opt   Options
	ready chan struct{} // a token; the goroutine that has it refreshes the index
	wg    sync.WaitGroup
	stop  chan struct{}
	once  sync.Once

	mu   sync.Mutex
	top  *node
	flat []*node // all folders, in order; immutable
}

// node is a folder of the index. It is immutable once it is in a snapshot.
type node struct {
	rel    string
	files  []string
	masks  []letters
	mask   letters // the letters of rel
	subs   []*node
	above  *ignores // the ignore files that apply in the parent
	stamps []stamp  // stamps of the folder and its ignore files
	racy   bool
}

type stamp struct {
	path string
	time time.Time
	size int64
}

// NewIndex returns an index of the files below root. It does not read anything yet.
func NewIndex(root string, opt Options) *Index {
	x := &Index{root: strings.TrimSuffix(slashed(root), "/"), opt: opt,
		ready: make(chan struct{}, 1), stop: make(chan struct{})}
	x.ready <- struct{}{}
	return x
}

// Close waits for running work. Later queries find no changes.
func (x *Index) Close() {
	x.once.Do(func() { close(x.stop) })
	x.wg.Wait()
}

// snapshot returns the known folders. It waits until the index has been built, and only briefly for
// later changes.
func (x *Index) snapshot(ctx context.Context) []*node {
	done := x.refresh()
	x.mu.Lock()
	flat := x.flat
	x.mu.Unlock()
	var limit <-chan time.Time
	if flat != nil {
		timer := time.NewTimer(refreshWait)
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case <-done:
	case <-limit:
	case <-ctx.Done():
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.flat
}

// refresh looks for changes in the background, once a refresh that is already running has ended.
// The returned channel is closed when the refresh is done.
func (x *Index) refresh() <-chan struct{} {
	done := make(chan struct{})
	select {
	case <-x.stop:
		close(done)
		return done
	default:
	}
	x.wg.Go(func() {
		defer close(done)
		select {
		case <-x.ready:
		case <-x.stop:
			return
		}
		defer func() { x.ready <- struct{}{} }()
		x.update()
	})
	return done
}

func (x *Index) update() {
	x.mu.Lock()
	old := x.top
	x.mu.Unlock()
	b := &builder{x: x}
	var top *node
	if old == nil {
		top = b.read("", parentIgnores(x.root+"/.", x.opt.Global), nil)
	} else {
		top = b.again(old)
	}
	if top == old || b.stopped() {
		return
	}
	flat := flatten(top)
	x.mu.Lock()
	x.top, x.flat = top, flat
	x.mu.Unlock()
}

func flatten(top *node) (flat []*node) {
	todo := []*node{top}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		flat = append(flat, n)
		for _, sub := range slices.Backward(n.subs) {
			todo = append(todo, sub)
		}
	}
	return flat
}

type builder struct {
	x     *Index
	files int
}

func (b *builder) stopped() bool {
	select {
	case <-b.x.stop:
		return true
	default:
		return false
	}
}

// read reads a folder and its sub-folders. It reuses folders of old that did not change.
func (b *builder) read(rel string, above *ignores, old *node) *node {
	n := &node{rel: rel, above: above, mask: lettersOf(rel)}
	if b.files >= maxIndexed || b.stopped() {
		return n
	}
	n.stamps, n.racy = b.x.stamps(rel)
	l := b.x.opt.list(b.x.root, rel, above)
	n.files = l.files
	b.files += len(l.files)
	n.masks = make([]letters, len(n.files))
	for i, f := range n.files {
		n.masks[i] = lettersOf(f)
	}
	for _, name := range l.subs {
		sub := dirPrefix(rel) + name
		if kept := old.sub(sub); kept != nil && kept.above == l.ignores {
			n.subs = append(n.subs, b.again(kept))
		} else {
			n.subs = append(n.subs, b.read(sub, l.ignores, nil))
		}
	}
	return n
}

func (n *node) sub(rel string) *node {
	if n == nil {
		return nil
	}
	for _, s := range n.subs {
		if s.rel == rel {
			return s
		}
	}
	return nil
}

// again returns n if nothing in or below it changed, and otherwise a node with the current content.
func (b *builder) again(n *node) *node {
	if n.racy || n.changed() {
		return b.read(n.rel, n.above, n)
	}
	b.files += len(n.files)
	var subs []*node
	for i, s := range n.subs {
		now := b.again(s)
		if now != s && subs == nil {
			subs = slices.Clone(n.subs)
		}
		if subs != nil {
			subs[i] = now
		}
	}
	if subs == nil {
		return n
	}
	dup := *n
	dup.subs = subs
	return &dup
}

func (n *node) changed() bool {
	for _, s := range n.stamps {
		info, err := os.Lstat(s.path)
		if err != nil || !info.ModTime().Equal(s.time) || !info.IsDir() && info.Size() != s.size {
			return true
		}
	}
	return len(n.stamps) == 0
}

func (x *Index) stamps(rel string) (stamps []stamp, racy bool) {
	dir := x.root
	if rel != "" {
		dir += "/" + rel
	}
	for _, p := range []string{dir, dir + "/" + gitIgnore, dir + "/" + dotIgnore, dir + "/" +
		agentIgnore} {
		info, err := os.Lstat(p)
		if err != nil {
			continue
		}
		stamps = append(stamps, stamp{p, info.ModTime(), info.Size()})
		racy = racy || time.Since(info.ModTime()) < racyAge
	}
	return stamps, racy
}
