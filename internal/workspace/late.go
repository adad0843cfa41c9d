package workspace

import (
	"bytes"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// lateChanges is the number of document changes during which an abandoned apply is still
// recognized.
const lateChanges = 64

// lookLate recognizes the change of an abandoned apply. If the change arrives late, it is accepted.
// If the retry has already made the change, the late one is reverted. The caller holds mu.
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
	return !slices.ContainsFunc(b.t.wants,
		func(wt want) bool { return !wt.h.open() || wt.h.phase == hunkApplying })
}

// isDoubled reports whether body is the result of making the edits twice at the same positions.
func (b *bufferWatch) isDoubled(body []byte) bool {
	grown := len(b.expected) - len(b.t.base)
	if len(body) != len(b.expected)+grown || grown == 0 {
		return false
	}
	return bytes.Equal(body, text.ApplyClamped(b.expected, b.spans))
}

// takeBack asks the editor to revert a change that it made twice. The caller holds mu.
func (w *Workspace) takeBack(d *document, expected []byte) {
	s := text.Trim(d.text, splice{Start: 0, End: len(d.text), Text: expected})
	e := WorkspaceEdit{Documents: []DocumentEdit{w.textEdits(d, []splice{s})}}
	_ = w.send("agent: undo a change that was made twice", e)
}

// arrived completes the decision whose apply was late. The caller holds mu.
func (w *Workspace) arrived(b *bufferWatch) {
	c := b.c
	for _, wt := range b.t.wants {
		wt.h.take(c, wt.text)
	}
	c.reason = ""
	p := c.p
	p.revision++
	p.decided = true
	if p.teller == tellByResult {
		p.teller = tellByOutcomes
	}
	w.spawn(func() { w.keepLate(p, b) })
	if p.closed() {
		p.become(p.closedPhase())
		w.emit(p, Updated)
		return
	}
	w.finish(p)
}
