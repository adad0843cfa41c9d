package edit

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	// diffTimeout limits the search for a small diff. After this time, the rest of a gap becomes
	// one chunk, which is coarse but correct.
	diffTimeout = 100 * time.Millisecond
	// untimedGap is the size (items on both sides) up to which a gap costs so little that the time
	// limit does not apply. This makes the diffs of small edits independent of the load.
	untimedGap = 2000
	// maxGap limits the input size of one go-diff call, because go-diff's index and half-match
	// searches are quadratic and ignore the deadline.
	maxGap = 8000
	// recurseGap is the minimum size of a gap that is searched for unique items again.
	recurseGap = 64
)

// chunk is one changed range: a[a0:a1] became b[b0:b1].
type chunk struct{ a0, a1, b0, b1 int }

// differ contains the inputs of one diff. Items are interned, so that equal items have equal ids.
type differ struct {
	a, b     []int32
	deadline time.Time
	out      []chunk
	seen     []seen // occurrences by id; all zero between two searches for anchors
}

// seen counts the occurrences of an item on both sides of a gap.
type seen struct{ na, nb, ai int32 }

// diffIDs returns the changed ranges from a to b, sorted, with at least one equal item between
// neighbors. It splits at items that are unique on both sides (patience) and searches the gaps with
// go-diff.
func diffIDs(a, b []int32) []chunk {
	d := &differ{a: a, b: b, deadline: time.Now().Add(diffTimeout)}
	d.gap(chunk{0, len(a), 0, len(b)}, 0)
	return d.out
}

func (d *differ) emit(c chunk) {
	if c.a0 == c.a1 && c.b0 == c.b1 {
		return
	}
	if n := len(d.out); n > 0 && d.out[n-1].a1 == c.a0 && d.out[n-1].b1 == c.b0 {
		d.out[n-1].a1, d.out[n-1].b1 = c.a1, c.b1
		return
	}
	d.out = append(d.out, c)
}

func (d *differ) trim(c chunk) chunk {
	for c.a0 < c.a1 && c.b0 < c.b1 && d.a[c.a0] == d.b[c.b0] {
		c.a0++
		c.b0++
	}
	for c.a0 < c.a1 && c.b0 < c.b1 && d.a[c.a1-1] == d.b[c.b1-1] {
		c.a1--
		c.b1--
	}
	return c
}

func (d *differ) gap(c chunk, depth int) {
	c = d.trim(c)
	size := c.a1 - c.a0 + c.b1 - c.b0
	if c.a0 == c.a1 || c.b0 == c.b1 {
		d.emit(c)
		return
	}
	if depth == 0 || size > recurseGap && depth < 12 {
		if anchors := d.anchors(c); len(anchors) > 0 {
			d.between(c, anchors, depth)
			return
		}
	}
	if size > maxGap {
		d.windows(c)
		return
	}
	d.search(c)
}

// between diffs the ranges before, between and after the anchors.
func (d *differ) between(c chunk, anchors [][2]int, depth int) {
	ai, bi := c.a0, c.b0
	for _, p := range anchors {
		if p[0] > ai || p[1] > bi {
			d.gap(chunk{ai, p[0], bi, p[1]}, depth+1)
		}
		ai, bi = p[0]+1, p[1]+1
	}
	d.gap(chunk{ai, c.a1, bi, c.b1}, depth+1)
}

// anchors pairs the items that occur exactly once on each side of c. It returns the longest
// sequence of pairs whose positions increase on both sides.
func (d *differ) anchors(c chunk) [][2]int {
	if d.seen == nil {
		d.seen = make([]seen, max(slices.Max(d.a), slices.Max(d.b))+1)
	}
	for i, id := range d.a[c.a0:c.a1] {
		s := &d.seen[id]
		s.na, s.ai = s.na+1, int32(c.a0+i)
	}
	for _, id := range d.b[c.b0:c.b1] {
		d.seen[id].nb++
	}
	var pairs [][2]int
	for j, id := range d.b[c.b0:c.b1] {
		if s := d.seen[id]; s.na == 1 && s.nb == 1 {
			pairs = append(pairs, [2]int{int(s.ai), c.b0 + j})
		}
	}
	for _, id := range d.a[c.a0:c.a1] {
		d.seen[id] = seen{}
	}
	for _, id := range d.b[c.b0:c.b1] {
		d.seen[id] = seen{}
	}
	return rising(pairs)
}

// rising returns the longest subsequence of pairs (sorted by [1]) whose first elements increase.
func rising(pairs [][2]int) [][2]int {
	var tails []int // index of the last pair in the best run of each length
	prev := make([]int, len(pairs))
	for i, p := range pairs {
		k := len(tails)
		if k > 0 && pairs[tails[k-1]][0] >= p[0] {
			k, _ = slices.BinarySearchFunc(tails, p[0],
				func(t, v int) int { return pairs[t][0] - v })
		}
		prev[i] = -1
		if k > 0 {
			prev[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, i)
		} else {
			tails[k] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	out := make([][2]int, len(tails))
	for i, k := tails[len(tails)-1], len(tails)-1; k >= 0; i, k = prev[i], k-1 {
		out[k] = pairs[i]
	}
	return out
}

// windows diffs, piece by piece, a gap that is too large for one search. From each piece it keeps
// the first change and the changes that begin in the first half, so that the next piece can
// resynchronize.
func (d *differ) windows(c chunk) {
	for {
		c = d.trim(c)
		if size := c.a1 - c.a0 + c.b1 - c.b0; size <= maxGap {
			d.search(c)
			return
		}
		if c.a0 == c.a1 || c.b0 == c.b1 || time.Now().After(d.deadline) {
			d.emit(c)
			return
		}
		w := chunk{c.a0, min(c.a1, c.a0+maxGap/2), c.b0, min(c.b1, c.b0+maxGap/2)}
		sub := &differ{a: d.a, b: d.b, deadline: d.deadline}
		sub.search(w)
		for i, k := range sub.out {
			if i > 0 && (k.a0-w.a0 > maxGap/4 || k.b0-w.b0 > maxGap/4) {
				break
			}
			d.emit(k)
			c.a0, c.b0 = k.a1, k.b1
		}
	}
}

// search finds the changes in c with go-diff. One rune represents one distinct item. Surrogates are
// skipped because go-diff would convert them to U+FFFD. DiffTimeout 0 disables go-diff's
// half-match. DiffBisect has its own deadline.
func (d *differ) search(c chunk) {
	runes := map[int32]rune{}
	text := func(ids []int32) string {
		out := make([]byte, 0, 2*len(ids))
		for _, id := range ids {
			r, ok := runes[id]
			if !ok {
				r = rune(len(runes) + 1)
				if r >= 0xd800 {
					r += 0x800
				}
				runes[id] = r
			}
			out = utf8.AppendRune(out, r)
		}
		return string(out)
	}
	if c.a1-c.a0 == 1 && c.b1-c.b0 == 1 {
		d.emit(c) // DiffBisect panics if both sides are one rune
		return
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0
	deadline := d.deadline
	if c.a1-c.a0+c.b1-c.b0 <= untimedGap {
		deadline = time.Time{}
	}
	ta, tb := text(d.a[c.a0:c.a1]), text(d.b[c.b0:c.b1])
	i, j := c.a0, c.b0
	for _, df := range dmp.DiffBisect(ta, tb, deadline) {
		n := utf8.RuneCountInString(df.Text)
		switch df.Type {
		case diffmatchpatch.DiffEqual:
			i, j = i+n, j+n
		case diffmatchpatch.DiffDelete:
			d.emit(chunk{i, i + n, j, j})
			i += n
		case diffmatchpatch.DiffInsert:
			d.emit(chunk{i, i, j, j + n})
			j += n
		}
	}
}

// intern assigns equal ids to equal keys of both sides.
func intern[K comparable](a, b []K) (ia, ib []int32) {
	ids := make(map[K]int32, len(a))
	number := func(keys []K) []int32 {
		out := make([]int32, len(keys))
		for i, k := range keys {
			id, ok := ids[k]
			if !ok {
				id = int32(len(ids))
				ids[k] = id
			}
			out[i] = id
		}
		return out
	}
	return number(a), number(b)
}
