package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// confirm asks the user through the editor. It sends one applyEdit in which every hunk has an
// annotation that needs confirmation, and then reads from the files which hunks the user accepted.
func (w *Workspace) confirm(ctx context.Context, p *proposal) {
	select {
	case p.sem <- struct{}{}:
		defer func() { <-p.sem }()
	case <-ctx.Done():
		w.endWait(ctx, p)
		return
	}
	targets := p.targets(func(_ *change, h *hunk) (want, bool) { return want{h, h.new}, h.open() })
	if shown, err := w.prepareConfirm(ctx, p, targets); err == nil {
		w.confirmWith(ctx, p, live(targets))
		shown()
		w.keepAfter(targets)
	}
	if err := ctx.Err(); err != nil && w.undecided(p) {
		w.leaveConfirm(ctx, p)
		return
	}
	w.concludeConfirm(ctx, p, targets)
}

// prepareConfirm prepares the targets under their files' locks, which it releases before the editor
// asks the user. It marks the targets that are not open documents, because another change to these
// targets would move the text that the editor shows. Calling shown removes the marks. The editor
// protects its open documents by their versions.
func (w *Workspace) prepareConfirm(ctx context.Context, p *proposal,
	targets []*target) (shown func(), err error) {
	unlock, err := w.lockUnshown(ctx, targets)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var onDisk []*target
	for _, t := range targets {
		if t.c.op != Modify {
			w.prepareOp(ctx, t)
		} else if w.prepare(t) {
			continue
		}
		onDisk = append(onDisk, t)
	}
	w.keepAll(p, targets)
	keys := targetKeys(onDisk)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range keys {
		w.confirming[k] = append(w.confirming[k], p)
	}
	return func() { w.confirmed(p, keys) }, nil
}

// lockUnshown locks the targets' files as soon as the editor shows no other change to them.
// Previews of the same file are shown one after the other.
func (w *Workspace) lockUnshown(ctx context.Context, targets []*target) (unlock func(), err error) {
	for {
		over := w.docEvents.wait()
		if unlock, err = w.locks.Acquire(ctx, targetKeys(targets)); err != nil {
			return nil, err
		}
		w.mu.Lock()
		busy := slices.ContainsFunc(targets,
			func(t *target) bool { return t.c.doc == nil && w.shownElsewhere(t.c) })
		w.mu.Unlock()
		if !busy {
			return unlock, nil
		}
		unlock()
		select {
		case <-over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (w *Workspace) confirmed(p *proposal, keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range keys {
		w.confirming[k] = slices.DeleteFunc(w.confirming[k],
			func(o *proposal) bool { return o == p })
		if len(w.confirming[k]) == 0 {
			delete(w.confirming, k)
		}
	}
	w.docEvents.notify()
}

// shownElsewhere reports whether the editor shows another proposal's change to the file on disk.
// The caller holds mu.
func (w *Workspace) shownElsewhere(c *change) bool {
	for _, k := range targetKeys([]*target{{c: c}}) {
		if slices.ContainsFunc(w.confirming[k], func(o *proposal) bool { return o != c.p }) {
			return true
		}
	}
	return false
}

// beingConfirmed is the reason why a file is not changed while the editor shows another change to
// it for confirmation.
const beingConfirmed = "the editor is showing another change to it for confirmation; try again after the user has decided"

func (w *Workspace) undecided(p *proposal) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return p.anyIn(HunkPending)
}

// leaveConfirm ends a confirmation whose turn ended.
func (w *Workspace) leaveConfirm(ctx context.Context, p *proposal) {
	var s steered
	if errors.As(context.Cause(ctx), &s) {
		w.withdraw(p, s.SteerText(), proposalRejected)
	} else {
		w.withdraw(p, "", proposalWithdrawn)
	}
}

func (w *Workspace) confirmWith(ctx context.Context, p *proposal, targets []*target) {
	if len(targets) == 0 {
		return // there is nothing to show, because the texts to change are gone
	}
	w.mu.Lock()
	e := WorkspaceEdit{Annotations: map[string]Annotation{}}
	for _, t := range targets {
		w.annotate(&e, t)
	}
	w.mu.Unlock()
	answer := make(chan applyAnswer, 1)
	started := w.spawn(func() {
		// The user may take any time to answer, so only the turn and the workspace limit the wait.
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

// annotate adds a target's edits, each hunk with its own annotation. The caller holds mu.
func (w *Workspace) annotate(e *WorkspaceEdit, t *target) {
	c := t.c
	note := func(h *hunk) string {
		e.Annotations[h.id] = Annotation{
			Label: fmt.Sprintf("hunk %d: %s", h.ordinal, c.ref.Rel), Description: c.p.title,
			NeedsConfirmation: true,
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
		for _, te := range w.textEdits(d,
			[]splice{{Start: wt.h.start, End: wt.h.end, Text: wt.text}}).Edits {
			te.AnnotationID = note(wt.h)
			doc.Edits = append(doc.Edits, te)
		}
	}
	e.Documents = append(e.Documents, doc)
}

// opText returns the edits that give a created or renamed file its new text.
func (w *Workspace) opText(c *change) DocumentEdit {
	h, d := c.hunks[0], &document{uri: c.resultURI(), index: text.NewLineIndex(nil)}
	var splices []splice
	switch c.op {
	case Create:
		splices = []splice{{Start: 0, End: 0, Text: h.new}}
	case Rename:
		d.text, d.index = h.old, text.NewLineIndex(h.old)
		for _, part := range edit.Hunks(h.old, h.new) {
			splices = append(splices, splice{Start: part.BaseStart, End: part.BaseEnd,
				Text: part.New})
		}
	}
	text := w.textEdits(d, splices)
	text.Version = nil
	for i := range text.Edits {
		text.Edits[i].AnnotationID = h.id
	}
	return text
}

// readBackSoon waits until every file contains its complete new text, for at most verifyWait. It
// then reads the result.
func (w *Workspace) readBackSoon(targets []*target, refused bool) {
	timer := time.NewTimer(verifyWait)
	defer timer.Stop()
	for waiting := !refused; waiting; {
		changed := w.docEvents.wait()
		waiting = false
		for _, t := range targets {
			if now, err := w.truth(t.c.ref); t.c.op == Modify &&
				(err != nil || !bytes.Equal(now, t.after)) ||
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

// truth returns a file's current text, which is the buffer's text if the file is open.
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
		return files.Exists(t.c.ref)
	case Delete:
		return !files.Exists(t.c.ref)
	}
	return files.Exists(t.c.newRef) && !files.Exists(t.c.ref)
}

// textCame reports whether a file that was created, or renamed and changed, contains its new text.
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

// readBack decides each hunk by the content of the file.
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
		e := tookHunk(diff, wt.h, t.spans[i])
		if wt.h.because(e, otherText); e == hunkLost {
			t.c.reason = otherText
		}
	}
}

// otherText is the reason for the conflict of a hunk that the user confirmed.
const otherText = "the text in the editor is different"

// readBackOp decides the hunk of a file operation.
func (w *Workspace) readBackOp(t *target) {
	happened := t.opHappened()
	came := happened && w.textCame(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	h := t.wants[0].h
	t.status = done
	switch {
	case came:
		h.on(hunkAccept)
	case happened:
		h.because(hunkLost, otherText)
		t.c.reason = otherText
	default:
		h.on(hunkReject)
		t.end(skipped, "")
	}
}

// tookHunk decides a hunk by the changes that were made to the base. at is the hunk's position in
// the base.
func tookHunk(diff []edit.Hunk, h *hunk, at splice) hunkEvent {
	took := hunkReject
	for _, d := range diff {
		switch {
		case d.BaseStart == at.Start && d.BaseEnd == at.End && bytes.Equal(d.New, h.new):
			return hunkAccept
		case d.BaseStart < at.End && at.Start < d.BaseEnd, d.BaseStart == at.Start:
			took = hunkLost
		}
	}
	return took
}

func (w *Workspace) concludeConfirm(ctx context.Context, p *proposal, targets []*target) {
	w.runCheck(ctx, p, targets)
	w.mu.Lock()
	p.revision++
	p.decided = true
	w.close(p, p.closedPhase())
	w.mu.Unlock()
	w.persist(p)
	w.deliver()
}
