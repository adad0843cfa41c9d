package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// bufferWatch recognizes the text that an applyEdit must leave in a document.
type bufferWatch struct {
	c        *change
	t        *target
	spans    []splice
	expected []byte
	signal   chan struct{}
	matched  bool
	late     int // number of document changes for which an abandoned apply is still recognized
}

func (b *bufferWatch) wake() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// look compares the document with the expected text. The caller holds mu.
func (b *bufferWatch) look(d *document) {
	if !b.matched && bytes.Equal(d.text, b.expected) {
		b.matched = true
		b.t.place(b.spans)
	}
	b.wake()
}

// applyBuffers changes the open documents with one request. If the client would not check the
// versions of all documents in one request, applyBuffers sends one request per document.
func (w *Workspace) applyBuffers(ctx context.Context, p *proposal, targets []*target) {
	if len(targets) == 0 {
		return
	}
	batches := [][]*target{targets}
	if w.opt.Client.Features().FirstVersionOnly {
		batches = nil
		for _, t := range targets {
			batches = append(batches, []*target{t})
		}
	}
	for _, b := range batches {
		w.request(ctx, label(p), b)
	}
}

func label(p *proposal) string { return "agent: " + orElse(p.title, "edit") }

// request sends one applyEdit and waits until the documents contain its result.
func (w *Workspace) request(ctx context.Context, label string, targets []*target) {
	signal := make(chan struct{}, 1)
	e := WorkspaceEdit{}
	w.mu.Lock()
	targets = slices.DeleteFunc(targets, func(t *target) bool {
		if t.c.doc == nil {
			t.end(skipped, "the document was closed")
			t.release()
			return true
		}
		if t.rebuild(); t.status != todo {
			return true
		}
		t.watch = &bufferWatch{c: t.c, t: t, spans: t.spans, expected: t.after, signal: signal}
		t.c.doc.watches = append(t.c.doc.watches, t.watch)
		e.Documents = append(e.Documents, w.documentEdit(t))
		return false
	})
	w.mu.Unlock()
	if len(targets) > 0 {
		w.awaitApply(ctx, signal, w.send(label, e), targets)
	}
}

// rebuild computes the new text again if the user typed after it was prepared. If the user removed
// the hunks' texts, the target ends. The caller holds mu.
func (t *target) rebuild() {
	if !bytes.Equal(t.base, t.c.doc.text) {
		t.build()
	}
}

type applyAnswer struct {
	ApplyReply
	err error
}

// send calls the client in a goroutine of the workspace, because an aborted turn must not leave an
// incomplete request in the editor.
func (w *Workspace) send(label string, e WorkspaceEdit) <-chan applyAnswer {
	answer := make(chan applyAnswer, 1)
	started := w.spawn(func() {
		ctx, cancel := context.WithTimeout(w.ctx, replyWait+verifyWait)
		defer cancel()
		r, err := w.opt.Client.ApplyEdit(ctx, label, e)
		answer <- applyAnswer{r, err}
	})
	if !started {
		answer <- applyAnswer{err: errors.New("the workspace is closing")}
	}
	return answer
}

// awaitApply waits until the documents contain the change. A response that reports success only
// starts a timer.
func (w *Workspace) awaitApply(ctx context.Context, signal <-chan struct{},
	answer <-chan applyAnswer, targets []*target) {
	timer := time.NewTimer(replyWait)
	defer timer.Stop()
	aborted, refusal, answered := ctx.Done(), "", false
	for final := false; !final; {
		select {
		case <-signal:
		case a := <-answer:
			answer, answered = nil, true
			switch {
			case a.err != nil:
				refusal, final = "the editor answered with an error: "+a.err.Error(), true
			case !a.Applied:
				refusal, final = orElse(a.FailureReason, "the editor refused the change"), true
			default:
				timer.Reset(w.verifyWait())
			}
		case <-timer.C:
			final = true
		case <-aborted:
			aborted = nil
			timer.Reset(abortWait)
		}
		if w.classify(targets, answered, final, refusal) {
			return
		}
	}
}

// verifyWait returns how long to wait for a didChange after the response.
func (w *Workspace) verifyWait() time.Duration {
	if w.opt.Client.Features().IdleChanges {
		return idleVerifyWait
	}
	return verifyWait
}

// classify sets the status of each target whose result is certain or, if final is set, of every
// target. It reports whether every target now has a result.
func (w *Workspace) classify(targets []*target, answered, final bool, refusal string) (all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all = true
	for _, t := range targets {
		if t.watch == nil {
			continue
		}
		switch d := t.c.doc; {
		case t.watch.matched, d != nil && (answered || final) && t.stands(d.text):
			w.unwatch(t, false)
			t.end(done, "")
		case !final:
			all = false
		default:
			w.giveUp(t, answered, refusal)
		}
	}
	return all
}

// giveUp records what an incomplete apply left in the document. The caller holds mu.
func (w *Workspace) giveUp(t *target, answered bool, refusal string) {
	w.unwatch(t, true)
	d := t.c.doc
	switch {
	case d == nil:
		t.end(skipped, "the document was closed")
	case !t.intact(d.text):
		t.divide(d.snapshot())
	case !answered:
		t.end(failed, fmt.Sprintf("the editor did not answer workspace/applyEdit within %v",
			replyWait))
	default:
		t.end(skipped, orElse(refusal, "the editor reported that it applied the change but did not"))
	}
	t.release()
}

// divide handles, hunk by hunk, a change that the editor did not make as requested. Hunks whose
// text is present are done, unchanged hunks stay undecided, and only the others are in conflict.
// The caller holds mu.
func (t *target) divide(text []byte) {
	const reason = "the text in the editor differs from the accepted text"
	var stand, lost []want
	for _, wt := range t.wants {
		switch {
		case wt.h.holds(text, wt.text):
			stand = append(stand, wt)
			continue
		case !wt.h.holds(text, wt.h.stands(t.c.applied)):
			wt.h.because(hunkLost, reason)
		}
		lost = append(lost, wt)
	}
	if len(stand) == 0 {
		t.end(conflict, reason)
		return
	}
	t.wants, t.lost, t.after = stand, append(t.lost, lost...), text
	t.end(divided, reason)
}

// stands reports whether every hunk's range contains exactly its new text.
func (t *target) stands(text []byte) bool {
	return !slices.ContainsFunc(t.wants, func(wt want) bool { return !wt.h.holds(text, wt.text) })
}

// intact reports whether the range of every hunk still contains its old text.
func (t *target) intact(text []byte) bool {
	return !slices.ContainsFunc(t.wants,
		func(wt want) bool { return !wt.h.holds(text, wt.h.stands(t.c.applied)) })
}

// holds reports whether the hunk's range contains exactly s. Typing at the border may have widened
// the range. In that case, s must occur in the range exactly once, and holds narrows the range to
// s.
func (h *hunk) holds(text, s []byte) bool {
	if h.end > len(text) {
		return false
	}
	part := text[h.start:h.end]
	if bytes.Equal(part, s) {
		return true
	}
	other := h.old
	if bytes.Equal(s, h.old) {
		other = h.new
	}
	if len(s) == 0 || bytes.Contains(part, other) && bytes.Contains(other, s) {
		return false
	}
	if bytes.Count(part, s) != 1 {
		return false
	}
	i := bytes.Index(part, s)
	h.start, h.end = h.start+i, h.start+i+len(s)
	return true
}

// unwatch stops watching for the change of t. If late is set, the change is still recognized during
// the next few changes to the document. The caller holds mu.
func (w *Workspace) unwatch(t *target, late bool) {
	b := t.watch
	t.watch = nil
	if d := t.c.doc; d != nil {
		d.watches = slices.DeleteFunc(d.watches, func(o *bufferWatch) bool { return o == b })
		if late {
			b.late = lateChanges
			d.late = append(d.late, b)
		}
	}
}
