package workspace

import (
	"bytes"
	"slices"
)

// How a hunk follows the user's typing.
//
// A pending hunk is a range of the current text that holds exactly the text it was made
// from (its old text, or its new text where it is already applied). Each change of the text
// is one splice, cut down to the bytes that really differ, because editors send whole lines
// or whole documents for one keystroke. A splice before the hunk shifts it, one after it
// leaves it, one that touches its bytes makes it stale, unless the text it needs stands
// exactly once in the document: then that place is it. Nothing is ever matched loosely.
//
// Typing at the border of a hunk is outside it. A hunk without bytes (an insertion) stays in
// front of what is typed at its place, so that it keeps standing at a line's start.

// splice replaces text[start:end] by text.
type splice struct {
	start, end int
	text       []byte
}

// trimSplice cuts off what a splice leaves as it was.
func trimSplice(text []byte, s splice) splice {
	old := text[s.start:s.end]
	n := commonPrefix(old, s.text)
	old, s.text, s.start = old[n:], s.text[n:], s.start+n
	m := commonSuffix(old, s.text)
	s.text, s.end = s.text[:len(s.text)-m], s.end-m
	return s
}

// chunks are the steps in which equal bytes are skipped: bytes.Equal is much faster than a loop.
var chunks = []int{4096, 64, 1}

func commonPrefix(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for _, c := range chunks {
		for i+c <= n && bytes.Equal(a[i:i+c], b[i:i+c]) {
			i += c
		}
	}
	return i
}

func commonSuffix(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for _, c := range chunks {
		for i+c <= n && bytes.Equal(a[len(a)-i-c:len(a)-i], b[len(b)-i-c:len(b)-i]) {
			i += c
		}
	}
	return i
}

// applySplices returns text with sorted, non-overlapping splices made, in fresh memory.
func applySplices(text []byte, splices []splice) []byte {
	n := len(text)
	for _, s := range splices {
		n += len(s.text) - (s.end - s.start)
	}
	out := make([]byte, 0, n)
	at := 0
	for _, s := range splices {
		out = append(append(out, text[at:s.start]...), s.text...)
		at = s.end
	}
	return append(out, text[at:]...)
}

// trackChange moves the hunks of every change that lives in d. Caller holds mu; d.text is
// the text after the splice.
func (w *Workspace) trackChange(d *document, s splice) {
	if d.key == "" {
		return
	}
	for _, c := range w.tracked[d.key] {
		if c.doc == d && c.follow(s, d.text, w.competitor(d, c.p)) {
			c.p.dirty = true
		}
	}
}

// competitor reports whether an apply of another proposal is under way in d.
func (w *Workspace) competitor(d *document, p *proposal) bool {
	for _, b := range d.watches {
		if b.c.p != p {
			return true
		}
	}
	return false
}

// refindBudget bounds the bytes searched for stale hunks in one change; the others are
// looked for when somebody decides about them.
const refindBudget = 4 << 20

// follow moves the change's hunks over a splice and reports whether a state changed.
func (c *change) follow(s splice, text []byte, competed bool) (changed bool) {
	if c.op == Delete || c.op == Rename {
		return c.followWhole(text)
	}
	before := c.staleSet()
	changed = c.move(s, competed)
	budget := refindBudget
	for i, h := range c.hunks {
		fresh := h.state == HunkStale && (i >= len(before) || !before[i])
		if h.state != HunkStale || h.competed && (fresh || !touches(h, s)) || budget <= 0 {
			continue
		}
		budget -= len(text)
		changed = c.refind(h, text) || changed
	}
	return changed
}

// staleSet says which hunks are stale; nil if none is.
func (c *change) staleSet() []bool {
	var set []bool
	for i, h := range c.hunks {
		if h.state == HunkStale {
			if set == nil {
				set = make([]bool, len(c.hunks))
			}
			set[i] = true
		}
	}
	return set
}

// touches reports whether a splice just made lies at the hunk's place.
func touches(h *hunk, s splice) bool { return s.start <= h.end && s.start+len(s.text) >= h.start }

// move shifts the hunks over a splice and makes stale what it touches.
func (c *change) move(s splice, competed bool) (changed bool) {
	delta := len(s.text) - (s.end - s.start)
	for _, h := range c.hunks {
		if h.follow(s, delta) && h.state == HunkPending && !h.applying {
			h.state, h.competed, h.reason, changed = HunkStale, competed, "its text was changed", true
		}
	}
	return changed
}

// followWhole keeps a hunk about a whole file: it is stale while the file is another.
func (c *change) followWhole(text []byte) bool {
	h := c.hunks[0]
	if !h.open() || c.applied || h.applying || c.op == Rename && bytes.Equal(h.old, h.new) {
		return false
	}
	was := h.state
	h.state, h.start, h.end = HunkPending, 0, len(text)
	if !bytes.Equal(text, h.old) {
		h.state, h.reason = HunkStale, "the file was changed"
	}
	return h.state != was
}

// follow moves one hunk and reports whether the splice touched its bytes.
func (h *hunk) follow(s splice, delta int) (touched bool) {
	switch exact := h.state == HunkPending && !h.applying; {
	case !exact:
		return h.followLoosely(s, delta)
	case s.start >= h.end:
		return false
	case s.end <= h.start:
		h.start, h.end = h.start+delta, h.end+delta
		return false
	}
	h.followLoosely(s, delta)
	return true
}

// followLoosely keeps the range that holds whatever became of the hunk's bytes. Text put in
// at its borders counts as its own: an apply under way looks like that.
func (h *hunk) followLoosely(s splice, delta int) (touched bool) {
	touched = s.start <= h.end && s.end >= h.start
	switch {
	case h.end >= s.end:
		h.end += delta
	case h.end > s.start:
		h.end = s.start + len(s.text)
	}
	switch {
	case h.start <= s.start:
	case h.start >= s.end:
		h.start += delta
	default:
		h.start = s.start
	}
	h.end = max(h.end, h.start)
	return touched
}

// refind looks for a stale hunk's text and makes it pending where it stands exactly once.
func (c *change) refind(h *hunk, text []byte) bool {
	want := h.basis(c.applied)
	if len(want) == 0 || h.missing {
		return false
	}
	i := bytes.Index(text, want)
	if i < 0 || bytes.Contains(text[i+1:], want) || c.taken(h, i, i+len(want)) {
		return false
	}
	h.start, h.end, h.state, h.competed, h.reason = i, i+len(want), HunkPending, false, ""
	return true
}

// taken reports whether another pending hunk stands in the range.
func (c *change) taken(h *hunk, start, end int) bool {
	return slices.ContainsFunc(c.hunks, func(o *hunk) bool {
		return o != h && o.state == HunkPending && o.start < end && start < o.end
	})
}

// rebase moves the hunks from the text that they refer to onto another. Caller holds mu.
func (c *change) rebase(text []byte) (changed bool) {
	old, _ := c.current()
	if bytes.Equal(old, text) {
		return false
	}
	s := trimSplice(old, splice{start: 0, end: len(old), text: text})
	return c.follow(s, text, false)
}

// track adds a change to those that follow their document. Caller holds mu.
func (w *Workspace) track(c *change) {
	w.tracked[c.ref.Key] = append(w.tracked[c.ref.Key], c)
}

// untrack forgets a change that has nothing open any more. Caller holds mu.
func (w *Workspace) untrack(c *change) {
	w.dropTracked(c)
	c.archive(w.encoding)
}

func (w *Workspace) dropTracked(c *change) {
	list := slices.DeleteFunc(slices.Clone(w.tracked[c.ref.Key]), func(o *change) bool { return o == c })
	if len(list) == 0 {
		delete(w.tracked, c.ref.Key)
	} else {
		w.tracked[c.ref.Key] = list
	}
}

// freeze makes the change independent of its document. Caller holds mu.
func (c *change) freeze() {
	if c.doc == nil {
		return
	}
	c.text = c.doc.snapshot()
	c.index = &LineIndex{starts: slices.Clone(c.doc.index.starts)}
	c.doc = nil
}

// archive keeps of a change that is over what can still be asked for, and lets its text go.
// Caller holds mu.
func (c *change) archive(enc Encoding) {
	text, index := c.current()
	if index == nil {
		return
	}
	for _, h := range c.hunks {
		h.place = index.Range(text, h.start, h.end, enc)
	}
	if c.doc != nil {
		v := c.doc.version
		c.version, c.ref.URI = &v, c.doc.uri
	}
	c.doc, c.text, c.index = nil, nil, nil
}

// linkDocument gives a document its canonical key and its hunks. Caller holds mu.
func (w *Workspace) linkDocument(d *document, key string) {
	d.key = key
	for _, c := range w.tracked[key] {
		if c.doc != nil {
			continue
		}
		if c.rebase(d.text) {
			c.p.dirty = true
		}
		c.doc, c.text, c.index = d, nil, nil
	}
	w.announce(d)
}

// unlinkDocument leaves the hunks of a closed document with its last text. Caller holds mu.
func (w *Workspace) unlinkDocument(d *document) {
	for _, c := range w.tracked[d.key] {
		if c.doc == d {
			c.freeze()
		}
	}
	for _, b := range d.watches {
		b.wake()
	}
}

// settle tells who waits for the document's text, and sends out what changed. Caller holds mu.
func (w *Workspace) settle(d *document) {
	for _, b := range slices.Clone(d.watches) {
		b.look(d)
	}
	w.lookLate(d)
	w.announce(d)
}

// announce queues an update for each proposal whose hunks changed state. Caller holds mu.
func (w *Workspace) announce(d *document) {
	for _, c := range w.tracked[d.key] {
		if c.p.dirty {
			c.p.dirty = false
			c.p.revision++
			if !c.p.closed {
				c.p.state = c.p.openState()
			}
			w.emit(c.p, Updated)
		}
	}
}

func countLines(text []byte) int {
	n := bytes.Count(text, []byte{'\n'})
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}
