package workspace

import (
	"bytes"
	"slices"
)

// lateChanges is for how many changes of its document a given-up apply is still recognised.
const lateChanges = 64

// lookLate recognises the change of an apply that was given up: one that arrives late is
// taken for what it is, one that arrives although the retry made it already is taken back.
// Caller holds mu.
func (w *Workspace) lookLate(d *document) {
	if len(d.late) == 0 || len(d.watches) > 0 && !w.doubledWatch(d) {
		return
	}
	d.late = slices.DeleteFunc(slices.Clone(d.late), func(b *bufferWatch) bool {
		b.late--
		switch {
		case b.isDoubled(d.text):
			w.takeBack(d, b.expected)
			return true
		case b.open() && bytes.Equal(d.text, b.expected):
			b.t.place(b.spans)
			w.arrived(b)
			return true
		}
		return b.late <= 0
	})
}

func (w *Workspace) doubledWatch(d *document) bool {
	return slices.ContainsFunc(d.late, func(b *bufferWatch) bool { return b.isDoubled(d.text) })
}

// open reports whether the hunks of the apply are still undecided.
func (b *bufferWatch) open() bool {
	return !slices.ContainsFunc(b.t.wants, func(wt want) bool { return !wt.h.open() || wt.h.applying })
}

// isDoubled reports whether text is what the edits make when they are made twice at the
// same positions.
func (b *bufferWatch) isDoubled(text []byte) bool {
	grown := len(b.expected) - len(b.t.base)
	if len(text) != len(b.expected)+grown || grown == 0 {
		return false
	}
	return bytes.Equal(text, applyClamped(b.expected, b.spans))
}

func applyClamped(text []byte, spans []splice) []byte {
	n := len(text)
	cut := make([]splice, len(spans))
	for i, s := range spans {
		cut[i] = splice{min(s.start, n), min(s.end, n), s.text}
	}
	return applySplices(text, cut)
}

// takeBack asks the editor to undo a change that it made twice. Caller holds mu.
func (w *Workspace) takeBack(d *document, expected []byte) {
	s := trimSplice(d.text, splice{0, len(d.text), expected})
	e := WorkspaceEdit{Documents: []DocumentEdit{w.textEdits(d, []splice{s})}}
	_ = w.send("agent: take back a change that was made twice", e)
}

// arrived completes the decision whose apply came late. Caller holds mu.
func (w *Workspace) arrived(b *bufferWatch) {
	c := b.c
	for _, wt := range b.t.wants {
		wt.h.take(c, wt.text)
	}
	c.reason = ""
	p := c.p
	p.revision++
	p.decided, p.lateNews = true, true
	w.spawn(func() { w.keepLate(p, b) })
	if p.closed {
		p.state = p.finalState()
		w.emit(p, Updated)
		return
	}
	w.finish(p)
}
