package search

import (
	"bytes"
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Limits of a query.
const (
	maxQuery     = 200 // bytes
	maxFindLimit = 1000
)

// Hit is a file that matches a query. A higher Score is better.
type Hit struct {
	Path  string // path relative to the root, slash-separated
	Score int
}

// Find returns the files that match all words of the query, best match first. Matches in the name
// of the file rank above matches in its folders. Complete names, prefixes and starts of words rank
// above scattered letters. boost adds to the score of a path. An empty query returns boosted files
// and files near the top of the tree.
func (x *Index) Find(ctx context.Context, query string, limit int, boost map[string]int) []Hit {
	limit = min(max(limit, 1), maxFindLimit)
	if len(query) > maxQuery {
		query = query[:maxQuery]
	}
	var words []word
	for _, w := range strings.Fields(strings.ToLower(strings.ReplaceAll(query, `\`, "/"))) {
		words = append(words, word{[]byte(w), lettersOf(w), strings.Contains(w, "/")})
	}
	flat := x.snapshot(ctx)
	parts := min(runtime.GOMAXPROCS(0), maxWorkers, len(flat)/16+1)
	best := make([]ranking, parts)
	var wg sync.WaitGroup
	for i := range parts {
		best[i] = ranking{limit: limit, words: words, boost: boost}
		wg.Go(func() {
			for _, n := range flat[i*len(flat)/parts : (i+1)*len(flat)/parts] {
				best[i].folder(n)
			}
		})
	}
	wg.Wait()
	var hits []Hit
	for _, r := range best {
		hits = append(hits, r.hits...)
	}
	slices.SortFunc(hits, compareHits)
	return hits[:min(limit, len(hits))]
}

func compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(len(a.Path), len(b.Path)),
		cmp.Compare(a.Path, b.Path))
}

type word struct {
	text  []byte // lower-case
	mask  letters
	slash bool // searched for only in the complete path
}

// ranking stores the best hits so far. When the list has grown to twice the limit, ranking cuts it
// to the limit.
type ranking struct {
	limit int
	words []word
	boost map[string]int
	hits  []Hit
	least int // score of the worst hit that was kept, once the list was cut
	now   candidate
}

// candidate is the path that is being scored.
type candidate struct {
	path   []byte // lower-case
	orig   []byte // unchanged, or lower-case if that changes the length
	folder int    // offset at which the name begins
}

func (r *ranking) folder(n *node) {
	folder := len(dirPrefix(n.rel))
	for i, name := range n.files {
		if !r.may(n.mask | n.masks[i]) {
			continue
		}
		r.now.set(n.rel, name, folder)
		score, ok := r.score(&r.now)
		if !ok {
			continue
		}
		if r.boost != nil {
			score += r.boost[dirPrefix(n.rel)+name]
		}
		if score > r.least || len(r.hits) < r.limit {
			r.add(Hit{dirPrefix(n.rel) + name, score})
		}
	}
}

func (c *candidate) set(dir, name string, folder int) {
	c.orig = append(append(append(c.orig[:0], dir...), '/')[:folder], name...)
	c.path = lower(append(c.path[:0], c.orig...))
	if len(c.path) != len(c.orig) {
		c.orig = append(c.orig[:0], c.path...)
	}
	c.folder = min(folder, len(c.path))
}

func (r *ranking) may(have letters) bool {
	for _, w := range r.words {
		if w.mask&^have != 0 {
			return false
		}
	}
	return true
}

func (r *ranking) add(h Hit) {
	if r.hits = append(r.hits, h); len(r.hits) < 2*r.limit {
		return
	}
	slices.SortFunc(r.hits, compareHits)
	r.hits = r.hits[:r.limit]
	r.least = r.hits[r.limit-1].Score
}

// The components of a score.
const (
	inName     = 2000 // the letters are contiguous in the name
	inNameFar  = 1200 // the letters are in the name, with others between them
	inPath     = 800
	wholeName  = 600
	nameBegin  = 400
	wordBegin  = 200
	perDepth   = 2
	perGap     = 3
	boundHit   = 12
	emptyScore = 100
)

func (r *ranking) score(c *candidate) (int, bool) {
	total := emptyScore - len(c.path)/8 - perDepth*bytes.Count(c.path, slash)
	for i := range r.words {
		s, ok := r.words[i].score(c)
		if !ok {
			return 0, false
		}
		total += s
	}
	return total, true
}

var slash = []byte{'/'}

func (w *word) score(c *candidate) (int, bool) {
	if name, orig := c.path[c.folder:], c.orig[c.folder:]; !w.slash {
		if at := bytes.Index(name, w.text); at >= 0 {
			return inName + w.piece(name, orig, at), true
		}
		if s, ok := scattered(name, orig, w.text); ok {
			return inNameFar + s, true
		}
	}
	if at := bytes.LastIndex(c.path, w.text); at >= 0 {
		return inPath + w.piece(c.path, c.orig, at)/2, true
	}
	return scattered(c.path, c.orig, w.text)
}

// piece scores a word that was found at the offset at of a name or a path.
func (w *word) piece(text, orig []byte, at int) int {
	stem := len(text)
	if dot := bytes.LastIndexByte(text, '.'); dot > 0 {
		stem = dot
	}
	s := -(len(text) - len(w.text))
	switch {
	case at == 0 && (len(w.text) == len(text) || len(w.text) == stem):
		s += wholeName
	case at == 0:
		s += nameBegin
	case bound(orig, at):
		s += wordBegin
	}
	return s
}

// scattered scores letters that occur in order with other letters in between. It searches backwards
// from the last letter of the first match, so that it finds the closest letters.
func scattered(text, orig, want []byte) (int, bool) {
	i := 0
	end := -1
	for p, c := range text {
		if c == want[i] {
			if i++; i == len(want) {
				end = p
				break
			}
		}
	}
	if end < 0 {
		return 0, false
	}
	s := 0
	last := end + 1
	for p := end; i > 0; p-- {
		if text[p] != want[i-1] {
			continue
		}
		i--
		if p != last-1 {
			s -= perGap * min(last-1-p, 8)
		}
		if bound(orig, p) {
			s += boundHit
		}
		last = p
	}
	return s, true
}

// bound reports whether a word begins at i.
func bound(text []byte, i int) bool {
	if i == 0 {
		return true
	}
	switch text[i-1] {
	case '/', '_', '-', '.', ' ':
		return true
	}
	return 'A' <= text[i] && text[i] <= 'Z' && 'a' <= text[i-1] && text[i-1] <= 'z'
}

// letters is the set of characters in a string. Comparing two sets rules out most strings before
// they are searched.
type letters uint64

func lettersOf(text string) letters {
	var m letters
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z':
			m |= 1 << (c - 'a')
		case c >= 'A' && c <= 'Z':
			m |= 1 << (c - 'A')
		case c >= '0' && c <= '9':
			m |= 1 << (26 + c - '0')
		case c >= utf8.RuneSelf: // the lower-case form may consist of other bytes
			continue
		case c == '/':
		default:
			m |= 1 << (36 + c%24)
		}
	}
	return m
}
