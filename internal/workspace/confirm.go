package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// confirm lets the editor ask: one applyEdit in which every hunk bears an annotation that
// needs confirmation. What the user took is then read back from the files, hunk by hunk.
func (w *Workspace) confirm(ctx context.Context, p *proposal) {
	select {
	case p.sem <- struct{}{}:
		defer func() { <-p.sem }()
	case <-ctx.Done():
		w.endWait(ctx, p)
		return
	}
	targets := p.targets(func(_ *change, h *hunk) (want, bool) { return want{h, h.new}, h.open() })
	unlock, err := w.locks.lock(ctx, targetKeys(targets))
	if err == nil {
		defer unlock()
		for _, t := range targets {
			if t.c.op != Modify {
				w.prepareOp(ctx, t)
			} else {
				w.prepare(t)
			}
		}
		w.keepAll(p, targets)
		w.confirmWith(ctx, p, live(targets))
		w.keepAfter(p, targets)
	}
	if err := ctx.Err(); err != nil && w.undecided(p) {
		w.leaveConfirm(ctx, p)
		return
	}
	w.concludeConfirm(ctx, p, targets)
}

func (w *Workspace) undecided(p *proposal) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return p.anyIn(HunkPending)
}

// leaveConfirm ends a confirmation whose turn ended.
func (w *Workspace) leaveConfirm(ctx context.Context, p *proposal) {
	var s steered
	if errors.As(context.Cause(ctx), &s) {
		w.withdraw(p, s.SteerText(), StateRejected)
	} else {
		w.withdraw(p, "", StateWithdrawn)
	}
}

func (w *Workspace) confirmWith(ctx context.Context, p *proposal, targets []*target) {
	w.mu.Lock()
	e := WorkspaceEdit{Annotations: map[string]Annotation{}}
	for _, t := range targets {
		w.annotate(&e, t)
	}
	w.mu.Unlock()
	answer := make(chan applyAnswer, 1)
	started := w.spawn(func() {
		// A person answers: no time bound but the turn's and the workspace's.
		both, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(w.ctx, cancel)()
		r, err := w.opt.Client.ApplyEdit(both, label(p), e)
		answer <- applyAnswer{r, err}
	})
	if !started {
		return
	}
	refused := false
	select {
	case a := <-answer:
		refused = a.err != nil || !a.Applied
	case <-ctx.Done():
	}
	w.readBackSoon(targets, refused)
}

// annotate adds a target's edits, each hunk under an annotation of its own. Caller holds mu.
func (w *Workspace) annotate(e *WorkspaceEdit, t *target) {
	c := t.c
	note := func(h *hunk) string {
		e.Annotations[h.id] = Annotation{
			Label: fmt.Sprintf("hunk %d: %s", h.ordinal, c.ref.Rel), Description: c.p.title, NeedsConfirmation: true,
		}
		return h.id
	}
	if c.op != Modify {
		op := FileOp{Op: c.op, URI: c.ref.URI, NewURI: c.newRef.URI, AnnotationID: note(c.hunks[0])}
		e.Files = append(e.Files, op)
		if text := w.opText(c); len(text.Edits) > 0 {
			e.Documents = append(e.Documents, text)
		}
		return
	}
	d := c.doc
	doc := DocumentEdit{URI: c.ref.URI}
	if d == nil {
		d = &document{uri: c.ref.URI, text: c.text, index: c.index}
	} else {
		v := d.version
		doc.URI, doc.Version = d.uri, &v
	}
	for _, wt := range t.wants {
		for _, te := range w.textEdits(d, []splice{{wt.h.start, wt.h.end, wt.text}}).Edits {
			te.AnnotationID = note(wt.h)
			doc.Edits = append(doc.Edits, te)
		}
	}
	e.Documents = append(e.Documents, doc)
}

// opText is what gives a file its text, once it was made or has its new name.
func (w *Workspace) opText(c *change) DocumentEdit {
	h, d := c.hunks[0], &document{uri: c.resultURI(), index: NewLineIndex(nil)}
	var splices []splice
	switch c.op {
	case Create:
		splices = []splice{{0, 0, h.new}}
	case Rename:
		d.text, d.index = h.old, NewLineIndex(h.old)
		for _, part := range edit.Hunks(h.old, h.new) {
			splices = append(splices, splice{part.BaseStart, part.BaseEnd, part.New})
		}
	}
	text := w.textEdits(d, splices)
	text.Version = nil
	for i := range text.Edits {
		text.Edits[i].AnnotationID = h.id
	}
	return text
}

// readBackSoon waits until every file holds its whole new text, at most the contract's
// second, and then takes what there is.
func (w *Workspace) readBackSoon(targets []*target, refused bool) {
	timer := time.NewTimer(verifyWait)
	defer timer.Stop()
	for waiting := !refused; waiting; {
		changed := w.docEvents.wait()
		waiting = false
		for _, t := range targets {
			if now, err := w.truth(t.c.ref); t.c.op == Modify && (err != nil || !bytes.Equal(now, t.after)) ||
				t.c.op != Modify && !(t.opHappened() && w.textCame(t)) {
				waiting = true
			}
		}
		if !waiting {
			break
		}
		select {
		case <-changed:
		case <-timer.C:
			waiting = false
		}
	}
	for _, t := range targets {
		w.readBack(t)
	}
}

// truth is a file's text now: the buffer's if it is open.
func (w *Workspace) truth(ref Ref) ([]byte, error) {
	f, err := w.Read(context.Background(), ref)
	if err != nil {
		return nil, err
	}
	return f.Text.Data, nil
}

func (t *target) opHappened() bool {
	switch t.c.op {
	case Create:
		return exists(t.c.ref)
	case Delete:
		return !exists(t.c.ref)
	}
	return exists(t.c.newRef) && !exists(t.c.ref)
}

// textCame reports whether a file that was made, or renamed and changed, holds its text.
func (w *Workspace) textCame(t *target) bool {
	h, ref := t.wants[0].h, t.c.ref
	if t.c.op == Rename {
		ref = t.c.newRef
	}
	if t.c.op == Delete || bytes.Equal(h.old, h.new) {
		return true
	}
	now, err := w.truth(ref)
	return err == nil && bytes.Equal(now, h.new)
}

// readBack decides each hunk by what the file holds.
func (w *Workspace) readBack(t *target) {
	if t.c.op != Modify {
		w.readBackOp(t)
		return
	}
	now, err := w.truth(t.c.ref)
	w.mu.Lock()
	defer w.mu.Unlock()
	t.status = done
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		t.end(failed, err.Error())
	case bytes.Equal(now, t.base):
		t.end(skipped, "")
	}
	diff := edit.Hunks(t.base, now)
	for i, wt := range t.wants {
		wt.h.applying = false
		wt.h.state = tookHunk(diff, wt.h, t.spans[i])
		if wt.h.state == HunkStale {
			wt.h.reason, t.c.reason = otherText, otherText
		}
	}
}

// otherText is why a hunk is in conflict that the user confirmed.
const otherText = "the editor left another text"

// readBackOp decides the hunk of a file operation.
func (w *Workspace) readBackOp(t *target) {
	happened := t.opHappened()
	came := happened && w.textCame(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	h := t.wants[0].h
	h.applying, t.status = false, done
	switch {
	case came:
		h.state = HunkAccepted
	case happened:
		h.state, h.reason, t.c.reason = HunkStale, otherText, otherText
	default:
		h.state = HunkRejected
		t.end(skipped, "")
	}
}

// tookHunk compares a hunk, whose place in the base is at, with what changed in the base.
func tookHunk(diff []edit.Hunk, h *hunk, at splice) HunkState {
	state := HunkRejected
	for _, d := range diff {
		switch {
		case d.BaseStart == at.start && d.BaseEnd == at.end && bytes.Equal(d.New, h.new):
			return HunkAccepted
		case d.BaseStart < at.end && at.start < d.BaseEnd, d.BaseStart == at.start:
			state = HunkStale
		}
	}
	return state
}

func (w *Workspace) concludeConfirm(ctx context.Context, p *proposal, targets []*target) {
	w.runCheck(ctx, p, targets)
	w.mu.Lock()
	p.revision++
	p.decided = true
	w.close(p, p.finalState())
	w.mu.Unlock()
	w.persist(p)
	w.deliver()
}
