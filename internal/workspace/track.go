package workspace

import (
	"bytes"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// This file makes hunks follow the user's typing.
//
// A pending hunk is a range of the current text. The range contains exactly the text from which the
// hunk was made (its old text, or its new text if that is already applied). Each change of the text
// is one splice, reduced to the bytes that really differ, because editors send whole lines or whole
// documents for one keystroke. A splice before the hunk shifts the hunk. A splice after the hunk
// has no effect. A splice that touches the hunk's bytes makes the hunk stale, unless the text that
// it needs occurs exactly once in the document. In that case, the hunk moves there. Text is never
// matched loosely.
//
// Text that is typed at the border of a hunk is outside the hunk. A hunk without bytes (an
// insertion) stays before the text that is typed at its position, so that it remains at the start
// of a line.

// touched reports whether a splice touches the text of a pending hunk.
func (c *change) touched(s splice) bool {
	return slices.ContainsFunc(c.hunks, func(h *hunk) bool {
		return h.still() && s.Start < h.end && s.End > h.start
	})
}

// trackChange moves the hunks of every change in d. d.text is the text after the splices, which
// were made one after the other. The caller holds mu.
func (w *Workspace) trackChange(d *document, splices []splice) {
	if d.key == "" {
		return
	}
	for _, c := range w.tracked[d.key] {
		if c.doc != d {
			continue
		}
		if c.was == nil {
			c.was = c.states()
		}
		c.follow(splices, d.text, w.competitor(d, c.p))
	}
}

func (c *change) states() []HunkState {
	out := make([]HunkState, len(c.hunks))
	for i, h := range c.hunks {
		out[i] = h.state()
	}
	return out
}

// competitor reports whether an apply of another proposal is running in d.
func (w *Workspace) competitor(d *document, p *proposal) bool {
	for _, b := range d.watches {
		if b.c.p != p {
			return true
		}
	}
	return false
}

// refindBudget limits the bytes searched for stale hunks after one change. The other hunks are
// searched for when the user decides about them.
const refindBudget = 4 << 20

// follow moves the change's hunks over splices that were made one after the other.
func (c *change) follow(splices []splice, text []byte, competed bool) {
	if c.op == Delete || c.op == Rename {
		c.followWhole(text)
		return
	}
	before := c.staleSet()
	for _, s := range splices {
		c.move(s, competed)
	}
	budget := refindBudget
	for i, h := range c.hunks {
		fresh := h.state() == HunkStale && (i >= len(before) || !before[i])
		if h.state() != HunkStale || budget <= 0 ||
			h.phase == hunkOutdone && (fresh || !touchesAny(h, splices)) {
			continue
		}
		budget -= len(text)
		c.refind(h, text)
	}
}

// staleSet returns which hunks are stale, or nil if none is.
func (c *change) staleSet() []bool {
	var set []bool
	for i, h := range c.hunks {
		if h.state() == HunkStale {
			if set == nil {
				set = make([]bool, len(c.hunks))
			}
			set[i] = true
		}
	}
	return set
}

// touchesAny reports whether one of the splices that were just made touches the hunk's range.
func touchesAny(h *hunk, splices []splice) bool {
	return slices.ContainsFunc(splices, func(s splice) bool {
		return s.Start <= h.end && s.Start+len(s.Text) >= h.start
	})
}

// move shifts the hunks after a splice, and marks a hunk as stale if the splice touches its text.
func (c *change) move(s splice, competed bool) (changed bool) {
	delta, e := len(s.Text)-(s.End-s.Start), hunkTyped
	if competed {
		e = hunkCompeted
	}
	for _, h := range c.hunks {
		if h.follow(s, delta) && h.on(e) {
			h.reason, changed = "its text was changed", true
		}
	}
	return changed
}

// followWhole updates a hunk that covers a whole file. The hunk is stale while the file has other
// content.
func (c *change) followWhole(text []byte) {
	h := c.hunks[0]
	if !h.open() || c.applied || h.phase == hunkApplying ||
		c.op == Rename && bytes.Equal(h.old, h.new) {
		return
	}
	h.start, h.end = 0, len(text)
	if bytes.Equal(text, h.old) {
		h.on(hunkFound)
	} else {
		h.because(hunkLost, "the file was changed")
	}
}

// follow moves one hunk and reports whether the splice touched its bytes.
func (h *hunk) follow(s splice, delta int) (touched bool) {
	switch {
	case !h.still():
		return h.followLoosely(s, delta)
	case s.Start >= h.end:
		return false
	case s.End <= h.start:
		h.start, h.end = h.start+delta, h.end+delta
		return false
	}
	h.followLoosely(s, delta)
	return true
}

// followLoosely updates the hunk's range so that it contains the text that replaced the hunk's
// bytes. The range also includes text that is inserted at its borders, because a running apply may
// insert text there.
func (h *hunk) followLoosely(s splice, delta int) (touched bool) {
	touched = s.Start <= h.end && s.End >= h.start
	switch {
	case h.end >= s.End:
		h.end += delta
	case h.end > s.Start:
		h.end = s.Start + len(s.Text)
	}
	switch {
	case h.start <= s.Start:
	case h.start >= s.End:
		h.start += delta
	default:
		h.start = s.Start
	}
	h.end = max(h.end, h.start)
	return touched
}

// refind searches for a stale hunk's text and makes the hunk pending if the text occurs exactly
// once.
func (c *change) refind(h *hunk, text []byte) bool {
	want := h.basis(c.applied)
	if len(want) == 0 || h.phase == hunkMissing {
		return false
	}
	i := bytes.Index(text, want)
	if i < 0 || bytes.Contains(text[i+1:], want) || c.taken(h, i, i+len(want)) {
		return false
	}
	h.start, h.end, h.reason = i, i+len(want), ""
	h.on(hunkFound)
	return true
}

// taken reports whether another pending hunk is in the range.
func (c *change) taken(h *hunk, start, end int) bool {
	return slices.ContainsFunc(c.hunks, func(o *hunk) bool {
		return o != h && o.state() == HunkPending && o.start < end && start < o.end
	})
}

// rebase moves the hunks from the text to which they refer to another text, and reports whether a
// state changed. The caller holds mu.
func (c *change) rebase(body []byte) (changed bool) {
	old, _ := c.current()
	if bytes.Equal(old, body) {
		return false
	}
	before, splices := c.states(),
		[]splice{text.Trim(old, splice{Start: 0, End: len(old), Text: body})}
	if c.touched(splices[0]) {
		splices = text.Lines(old, body)
	}
	c.follow(splices, body, false)
	return !slices.Equal(before, c.states())
}

// track adds a change to those that follow their document. The caller holds mu.
func (w *Workspace) track(c *change) {
	w.tracked[c.ref.Key] = append(w.tracked[c.ref.Key], c)
}

// untrack makes a change stop following its document, and archives the change. The caller holds mu.
func (w *Workspace) untrack(c *change) {
	w.dropTracked(c)
	c.archive(w.encoding)
}

func (w *Workspace) dropTracked(c *change) {
	list := slices.DeleteFunc(slices.Clone(w.tracked[c.ref.Key]),
		func(o *change) bool { return o == c })
	if len(list) == 0 {
		delete(w.tracked, c.ref.Key)
	} else {
		w.tracked[c.ref.Key] = list
	}
}

// freeze makes the change independent of its document. The caller holds mu.
func (c *change) freeze() {
	if c.doc == nil {
		return
	}
	c.text = c.doc.snapshot()
	c.index = c.doc.index.Clone()
	c.doc = nil
}

// archive keeps the data of a finished change that can still be requested, and releases its text.
// The caller holds mu.
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

// linkDocument gives a document its canonical key and its hunks. The caller holds mu.
func (w *Workspace) linkDocument(d *document, key string) {
	d.key = key
	for _, c := range w.tracked[key] {
		if c.doc != nil {
			continue
		}
		if c.was == nil {
			c.was = c.states()
		}
		c.rebase(d.text)
		c.doc, c.text, c.index = d, nil, nil
	}
	w.announce(d)
}

// unlinkDocument makes the hunks of a closed document refer to the document's last text. The caller
// holds mu.
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

// settle wakes the callers that wait for the document's text, and sends events about the changes.
// The caller holds mu.
func (w *Workspace) settle(d *document) {
	for _, b := range slices.Clone(d.watches) {
		b.look(d)
	}
	w.lookLate(d)
	w.announce(d)
}

// announce queues an update for each proposal whose hunks changed state. The caller holds mu.
func (w *Workspace) announce(d *document) {
	var changed []*proposal
	for _, c := range w.tracked[d.key] {
		// A hunk that became stale and was found again within one message has only moved.
		if c.was != nil && !slices.Equal(c.was, c.states()) {
			if !slices.Contains(changed, c.p) {
				changed = append(changed, c.p)
			}
		}
		c.was = nil
	}
	for _, p := range changed {
		p.revision++
		if !p.closed() {
			p.become(p.openPhase())
		}
		w.emit(p, Updated)
	}
}
