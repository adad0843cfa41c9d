package search

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

// Limits of a search.
const (
	chunkSize = 1 << 20 // bytes of a file per read; a longer line is searched in pieces
	firstRead = 64 << 10
	batchSize = 64 // files that a worker gets at a time
	maxBatch  = 32 // batches that wait for a worker
)

// Query describes what Grep searches for and how much it returns.
type Query struct {
	Matcher *Matcher
	Only    *Glob // files to search; nil: all
	Context int   // lines shown around each match
	// Names means that the first match of a file is enough, and lines are not stored.
	Names bool
	// Counts means that only the number of matches in each file is needed, and lines are not
	// stored.
	Counts bool
	// Limit ends the search when the searched files contain that many matches. With Names or
	// Counts, Limit counts matching files instead. 0 means no limit.
	Limit int
	// MaxLine is the length in bytes to which stored lines are cut. 0 means no limit.
	MaxLine int
	// Overlay returns the text of an unsaved document by its absolute path.
	Overlay func(abs string) ([]byte, bool)
	// Secret returns a function that reports whether a file in a folder must not be searched. dir
	// is the absolute path of the folder. Secret may be nil. Found.Secret counts these files.
	Secret func(dir string) func(name string) bool
	// Withheld reports whether a file with matches, given by its absolute path, is treated like one
	// without a match. It may be nil.
	Withheld func(abs string) bool
	// Unsaved contains absolute paths of unsaved documents, so that documents that are not on disk
	// are searched too.
	Unsaved []string
}

// Line is a line of a result. Number is 1-based.
type Line struct {
	Number  int
	Text    string
	Context bool // the line is shown as context of a match
}

// FileMatches contains the matches of one file.
type FileMatches struct {
	Path    string // path relative to the root, slash-separated; "" if the root is the file
	Lines   []Line
	Count   int
	Unsaved bool
}

// Found is the result of a search, with files in the order of the walk.
type Found struct {
	Files    []FileMatches
	Matches  int
	Searched int  // files whose text was read
	Binary   int  // files skipped because they contain a NUL byte
	Secret   int  // files skipped because of Query.Secret
	More     bool // the limit ended the search
}

// Grep searches the files below root, or root itself if it is a file.
func Grep(ctx context.Context, root string, opt Options, q Query) (*Found, error) {
	info, err := os.Stat(root)
	if err == nil && !info.IsDir() || err != nil && q.overlays(slashed(root)) {
		return grepOne(ctx, root, q)
	}
	if err != nil {
		return nil, err
	}
	g := newGrepper(ctx, strings.TrimSuffix(slashed(root), "/"), q)
	err = Walk(g.ctx, root, opt, g.visit)
	g.unsavedOnly()
	found := g.finish()
	if cause := context.Cause(ctx); cause != nil {
		return found, cause
	}
	if err != nil && found.More {
		err = nil
	}
	return found, err
}

func (q *Query) overlays(abs string) bool {
	return slices.Contains(q.Unsaved, abs)
}

func grepOne(ctx context.Context, root string, q Query) (*Found, error) {
	w := newWorker(ctx, q)
	fm, state, err := w.file(slashed(root))
	if err != nil {
		return nil, err
	}
	f := &Found{Searched: 1}
	switch {
	case state == fileBinary:
		f.Binary = 1
	case fm.Count > 0:
		f.Files, f.Matches = []FileMatches{fm}, fm.Count
	}
	return f, context.Cause(ctx)
}

// grepper distributes the walk's files to workers and puts their results in order.
type grepper struct {
	ctx     context.Context
	cancel  context.CancelFunc
	root    string
	q       Query
	work    chan batch
	workers sync.WaitGroup
	seen    map[string]bool // unsaved documents found by the walk
	nextSeq int
	secret  int // files skipped because of Query.Secret

	mu    sync.Mutex
	done  map[int][]FileMatches // finished batches that are waiting for earlier ones
	turn  int
	found Found
}

type batch struct {
	seq   int
	dir   string
	files []string
}

func newGrepper(ctx context.Context, root string, q Query) *grepper {
	g := &grepper{root: root, q: q, work: make(chan batch, maxBatch), done: map[int][]FileMatches{},
		seen: map[string]bool{}}
	g.ctx, g.cancel = context.WithCancel(ctx)
	for range (Options{}).workers() {
		g.workers.Go(g.run)
	}
	return g
}

func (g *grepper) visit(dir string, files []string) error {
	files = g.wanted(dir, files)
	for part := range slices.Chunk(files, batchSize) {
		if err := g.send(batch{g.nextSeq, dir, part}); err != nil {
			return err
		}
	}
	return nil
}

func (g *grepper) send(b batch) error {
	g.nextSeq++
	select {
	case g.work <- b:
		return nil
	case <-g.ctx.Done():
		return ErrSkip
	}
}

func (g *grepper) wanted(dir string, files []string) []string {
	for _, abs := range g.q.Unsaved {
		if d, name := path.Split(abs); d == g.root+"/"+dirPrefix(dir) &&
			slices.Contains(files, name) {
			g.seen[abs] = true
		}
	}
	if g.q.Only != nil {
		var keep []string
		for _, f := range files {
			if g.q.Only.Match(dirPrefix(dir) + f) {
				keep = append(keep, f)
			}
		}
		files = keep
	}
	return g.notSecret(dir, files)
}

func dirPrefix(dir string) string {
	if dir == "" {
		return ""
	}
	return dir + "/"
}

// unsavedOnly searches documents that are not on disk yet.
func (g *grepper) unsavedOnly() {
	for _, abs := range g.q.Unsaved {
		rel, below := strings.CutPrefix(abs, g.root+"/")
		if !below || g.seen[abs] || g.q.Only != nil && !g.q.Only.Match(rel) {
			continue
		}
		if _, err := os.Lstat(abs); err == nil {
			continue // the walk skipped the document intentionally
		}
		dir, name := path.Split(rel)
		dir = strings.TrimSuffix(dir, "/")
		if names := g.notSecret(dir, []string{name}); len(names) > 0 &&
			g.send(batch{g.nextSeq, dir, names}) != nil {
			return
		}
	}
}

func (g *grepper) finish() *Found {
	close(g.work)
	g.workers.Wait()
	g.cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.found.Secret = g.secret
	return &g.found
}

func (g *grepper) run() {
	w := newWorker(g.ctx, g.q)
	for b := range g.work {
		var hits []FileMatches
		searched, binary := 0, 0
		for _, name := range b.files {
			if g.ctx.Err() != nil {
				break
			}
			rel := dirPrefix(b.dir) + name
			fm, state, err := w.file(g.root + "/" + rel)
			if err != nil {
				continue // an unreadable file is treated as missing
			}
			if searched++; state == fileBinary {
				binary++
			}
			if fm.Count > 0 && !(g.q.Withheld != nil && g.q.Withheld(g.root+"/"+rel)) {
				fm.Path = rel
				hits = append(hits, fm)
			}
		}
		g.collect(b.seq, hits, searched, binary)
	}
}

// collect stores the result of a finished batch. It then extends the overall result with the
// batches that are next in order.
func (g *grepper) collect(seq int, hits []FileMatches, searched, binary int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.found.Searched += searched
	g.found.Binary += binary
	g.done[seq] = hits
	for !g.found.More {
		next, ok := g.done[g.turn]
		if !ok {
			return
		}
		delete(g.done, g.turn)
		g.turn++
		g.take(next)
	}
}

func (g *grepper) take(hits []FileMatches) {
	for _, fm := range hits {
		if g.full() {
			g.found.More = true
			g.cancel()
			return
		}
		g.found.Files = append(g.found.Files, fm)
		g.found.Matches += fm.Count
	}
}

func (g *grepper) full() bool {
	switch {
	case g.q.Limit <= 0:
		return false
	case g.q.Names || g.q.Counts:
		return len(g.found.Files) >= g.q.Limit
	}
	return g.found.Matches >= g.q.Limit
}

// worker searches one file after the other with its own buffers.
type worker struct {
	q    Query
	scan *scanner
	buf  []byte
}

func newWorker(ctx context.Context, q Query) *worker {
	scan := q.Matcher.scanner()
	scan.stop = func() bool { return ctx.Err() != nil }
	return &worker{q: q, scan: scan, buf: make([]byte, firstRead)}
}

type fileState int

const (
	fileText fileState = iota
	fileBinary
)

func (w *worker) file(abs string) (FileMatches, fileState, error) {
	if w.q.Overlay != nil && len(w.q.Unsaved) > 0 && w.q.overlays(abs) {
		if text, ok := w.q.Overlay(abs); ok {
			c := collector{q: &w.q, scan: w.scan}
			c.chunk(text)
			c.out.Unsaved = true
			return c.out, fileText, nil
		}
	}
	f, err := openFile(abs)
	if err != nil {
		return FileMatches{}, fileText, &fs.PathError{Op: "open", Path: abs, Err: err}
	}
	defer f.close()
	return w.read(f)
}

// read searches a file chunk by chunk. If possible, each chunk ends at the end of a line, and an
// incomplete line is moved to the next chunk.
func (w *worker) read(f rawFile) (FileMatches, fileState, error) {
	c := collector{q: &w.q, scan: w.scan}
	have := 0
	for first := true; ; first = false {
		n, eof, err := w.fill(f, have)
		if err != nil {
			return c.out, fileText, err
		}
		text, bom := w.buf[:n], 0
		if first {
			if bytes.HasPrefix(text, utf8BOM) {
				bom = len(utf8BOM)
			}
			if plain, ok := decodeUTF16(text, eof); ok {
				c.chunk(plain)
				return c.out, fileText, nil
			}
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return c.out, fileBinary, nil
		}
		cut := n
		if !eof {
			if nl := bytes.LastIndexByte(text, '\n'); nl >= 0 {
				cut = nl + 1
			}
		}
		if c.chunk(text[min(bom, cut):cut]); eof || c.full() {
			return c.out, fileText, nil
		}
		have = copy(w.buf, text[cut:])
	}
}

// fill reads until the buffer, which grows up to chunkSize, is full or the file ends.
func (w *worker) fill(f rawFile, have int) (n int, eof bool, err error) {
	n = have
	for {
		if n == len(w.buf) {
			if n >= chunkSize {
				return n, false, nil
			}
			w.buf = append(w.buf, make([]byte, min(3*len(w.buf), chunkSize-len(w.buf)))...)
		}
		k, err := f.read(w.buf[n:])
		if err != nil {
			return n, false, err
		}
		if k == 0 {
			return n, true, nil
		}
		n += k
	}
}

// collector collects the lines of one file.
type collector struct {
	q     *Query
	scan  *scanner
	out   FileMatches
	line  int    // lines before the chunk
	shown int    // the last line in out
	after int    // context lines still to show
	tail  []Line // the last lines of earlier chunks, for the context before a match
}

func (c *collector) full() bool {
	return c.q.Names && c.out.Count > 0 || c.q.Limit > 0 && !c.q.Counts && c.out.Count >= c.q.Limit
}

func (c *collector) chunk(text []byte) {
	c.scan.begin(text)
	at, line := 0, c.line // line is the number of lines before the offset at
	for !c.full() {
		start, end, ok := c.scan.next(text, at)
		if !ok {
			break
		}
		c.out.Count++
		after := nextLine(text, end)
		if !c.q.Names && !c.q.Counts {
			c.follow(text, at, start, line)
			line += bytes.Count(text[at:start], newline)
			c.before(text, start, line)
			c.add(Line{Number: line + 1, Text: c.cut(text[start:end])})
			c.after = c.q.Context
			line++
		}
		at = after
	}
	if c.q.Names || c.q.Counts {
		return
	}
	c.follow(text, at, len(text), line)
	c.keepTail(text, line+bytes.Count(text[at:], newline))
}

var (
	newline = []byte{'\n'}
	utf8BOM = []byte("\ufeff")
)

func nextLine(text []byte, end int) int {
	if end < len(text) && text[end] == '\r' {
		end++
	}
	return min(end+1, len(text))
}

func (c *collector) add(l Line) {
	c.out.Lines = append(c.out.Lines, l)
	c.shown = l.Number
}

// follow adds the context lines after the last match, up to the start of the next match.
func (c *collector) follow(text []byte, at, end, line int) {
	for ; c.after > 0 && at < end; c.after-- {
		stop, next := lineEnd(text, at)
		line++
		c.add(Line{Number: line, Text: c.cut(text[at:stop]), Context: true})
		at = next
	}
}

// before adds the context lines before a match, except those that are already in the result.
func (c *collector) before(text []byte, start, line int) {
	var lines []Line
	for n := line; n > c.shown && len(lines) < c.q.Context && start > 0; n-- {
		begin := bytes.LastIndexByte(text[:start-1], '\n') + 1
		stop, _ := lineEnd(text, begin)
		lines = append(lines, Line{Number: n, Text: c.cut(text[begin:stop]), Context: true})
		start = begin
	}
	slices.Reverse(lines)
	missing := c.q.Context - len(lines)
	for _, l := range c.tail[max(0, len(c.tail)-missing):] {
		if l.Number > c.shown && start == 0 {
			c.add(l)
		}
	}
	for _, l := range lines {
		c.add(l)
	}
}

func (c *collector) keepTail(text []byte, lines int) {
	c.line = lines
	if c.q.Context == 0 {
		return
	}
	var tail []Line
	for start, n := len(text), lines; start > 0 && len(tail) < c.q.Context; n-- {
		begin := bytes.LastIndexByte(text[:start-1], '\n') + 1
		stop, _ := lineEnd(text, begin)
		tail = append(tail, Line{Number: n, Text: c.cut(text[begin:stop]), Context: true})
		start = begin
	}
	slices.Reverse(tail)
	c.tail = tail
}

func (c *collector) cut(line []byte) string {
	if m := c.q.MaxLine; m > 0 && len(line) > m {
		return CutLine(string(line[:m+4]), m)
	}
	return string(line)
}
