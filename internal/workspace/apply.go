package workspace

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/workspace/checkpoint"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// The following steps apply a decision to the files.
//
//  1. Lock the files' keys, so that decisions about one file run one after another.
//  2. Prepare the targets. An open document is used unchanged. A closed file is read again, and the
//     hunks are moved to its current content. Hunks whose text is gone are conflicts.
//  3. Store the pre-images (checkpoint.go).
//  4. Stage the closed files by writing the new bytes to disk under temporary names. A full or
//     read-only disk is detected in this step, before anything has changed.
//  5. Send one workspace/applyEdit for the open documents, with their versions. The reply is only a
//     claim. The text after the following didChange decides (see request in buffer.go).
//  6. Rename the staged files over their targets, if the targets have not changed since they were
//     read.
//  7. Prepare the targets that were skipped in step 5 or 6 again, and retry them once. If they are
//     skipped again, they are conflicts.

// want is the text that the range of one hunk must have after the change.
type want struct {
	h    *hunk
	text []byte
}

// target is one file of a decision. Once the target is in use, its fields are written under
// Workspace.mu, except status, reason and staged.
type target struct {
	c      *change
	wants  []want
	lost   []want // hunks whose text no longer exists
	status targetStatus
	reason string
	watch  *bufferWatch
	base   []byte
	after  []byte
	spans  []splice  // the edits to make, with offsets in base
	disk   diskState // state of the closed file from which base was read
	staged *files.Staged
	needs  *target // target whose file operations must be done first
	// from is the key of a file that a restore moves back to another name.
	from string
	kept *checkpoint.Change // the content that the checkpoint stores
}

// diskState is the content of a closed file when its target was prepared. Since then, another call
// that reads the file may have rebased the change onto a newer text (pendingText).
type diskState struct {
	sha string
	enc edit.Text
}

type targetStatus int

const (
	todo targetStatus = iota
	done
	divided  // some hunks are in the file, others are not
	skipped  // the file is unchanged, so the change is tried again
	stale    // nothing was tried, because the texts to change no longer exist
	conflict // the file has different content
	failed   // an error occurred; the file is unchanged
)

func (t *target) end(s targetStatus, reason string) { t.status, t.reason = s, reason }

// inConflict reports whether some part of the file differs from the intended text.
func (t *target) inConflict() bool { return t.status == conflict || t.status == divided }

// made reports whether the file was changed as intended, at least in part.
func (t *target) made() bool { return t.status == done || t.status == divided }

func (t *target) unresolved() bool { return t.status == todo || t.status == skipped }

// carryOut applies the targets. Afterwards, no target has the status todo or skipped. The caller
// holds the proposal's sem. An error means that nothing was changed.
func (w *Workspace) carryOut(ctx context.Context, p *proposal, targets []*target) error {
	unlock, err := w.locks.Acquire(ctx, targetKeys(targets))
	if err != nil {
		return err
	}
	defer unlock()
	if w.opt.Before != nil {
		var paths []string
		for _, t := range targets {
			paths = append(paths, t.c.ref.Path)
		}
		p.seen = w.opt.Before(ctx, paths)
	}
	for attempt := 0; attempt < 2; attempt++ {
		w.attempt(ctx, p, targets)
		if !slices.ContainsFunc(targets, (*target).unresolved) || ctx.Err() != nil {
			break
		}
	}
	w.wrote(targets)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range targets {
		if t.status == done {
			t.c.left = t.after
		}
		if t.unresolved() {
			t.end(conflict, orElse(t.reason, "the editor failed twice to make the change"))
		}
		for _, wt := range t.wants {
			wt.h.on(hunkRelease)
		}
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func targetKeys(targets []*target) []string {
	var keys []string
	for _, t := range targets {
		keys = append(keys, t.c.ref.Key)
		if t.c.op == Rename {
			keys = append(keys, t.c.newRef.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (w *Workspace) attempt(ctx context.Context, p *proposal, targets []*target) {
	w.canonicalizeDocs()
	var open, closed, ops []*target
	for _, t := range targets {
		if !t.unresolved() {
			continue
		}
		t.status = todo
		if t.c.op != Modify {
			if w.prepareOp(ctx, t); t.status == todo {
				ops = append(ops, t)
			}
			continue
		}
		if isOpen := w.prepare(t); t.status == todo && isOpen {
			open = append(open, t)
		} else if t.status == todo {
			closed = append(closed, t)
		}
	}
	w.flush()
	w.keepAll(p, slices.Concat(open, closed, ops))
	files.AtStep("intent kept")
	w.stageAll(live(closed))
	w.applyBuffers(ctx, p, live(open))
	w.commitAll(live(closed))
	for _, t := range live(ops) {
		if t.needs != nil && !t.needs.made() {
			t.end(failed, keepsNewName)
			continue
		}
		w.carryOutFileOp(ctx, p, t)
	}
	w.keepAfter(slices.Concat(open, closed, ops))
}

// keepAll stores the pre-images and the intent before any file changes. It writes them in parallel,
// because most of the time is spent waiting for the disk.
func (w *Workspace) keepAll(p *proposal, ts []*target) {
	ts = live(ts)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { w.persistIntent(p, ts) })
	w.keepBefore(p, ts)
}

func live(ts []*target) []*target {
	var out []*target
	for _, t := range ts {
		if t.status == todo {
			out = append(out, t)
		}
	}
	return out
}

// prepareOp checks that a file operation still applies to the file for which it was proposed.
func (w *Workspace) prepareOp(ctx context.Context, t *target) {
	now, known := w.toRename(ctx, t.c)
	w.mu.Lock()
	defer w.mu.Unlock()
	wt := &t.wants[0]
	h := wt.h
	switch mere := bytes.Equal(h.old, h.new) && bytes.Equal(wt.text, h.old); {
	case w.shownElsewhere(t.c):
		t.end(failed, beingConfirmed)
		return
	case h.state() != HunkPending:
		t.lose(orElse(h.reason, "the file was changed"))
		return
	case known && mere: // the file's current content moves with the file
		h.old, h.new, wt.text = now, now, now
	case known && !bytes.Equal(now, h.basis(t.c.applied)):
		t.lose("the file was changed")
		return
	}
	h.on(hunkBegin)
}

// toRename returns the content of a file that will be renamed. known is false if the change is not
// a rename or if the file cannot be read.
func (w *Workspace) toRename(ctx context.Context, c *change) (text []byte, known bool) {
	if c.op != Rename {
		return nil, false
	}
	from, _ := c.renaming()
	f, err := w.Read(ctx, from)
	if err != nil {
		return nil, false
	}
	return f.Text.Data, true
}

// prepare updates the hunks of a modified file to its current text and reports whether the file is
// open.
func (w *Workspace) prepare(t *target) (open bool) {
	c := t.c
	var disk *File
	var err error
	if c.ref.IsFile() {
		disk, err = readDisk(c.ref)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case c.doc != nil:
		open = true
	case w.shownElsewhere(c):
		t.end(failed, beingConfirmed)
		return false
	case errors.Is(err, fs.ErrNotExist):
		t.lose("the file was deleted")
		return false
	case err != nil:
		t.end(failed, err.Error())
		return false
	case disk == nil:
		t.lose("the document was closed")
		return false
	default:
		w.ontoDisk(c, disk)
		t.disk = diskState{c.rawSHA, c.enc}
	}
	t.build()
	return open
}

// ontoDisk rebases a closed file's hunks onto the current text on disk. The caller holds mu.
func (w *Workspace) ontoDisk(c *change, disk *File) {
	if c.rebase(disk.Text.Data) {
		c.p.revision++
		w.emit(c.p, Updated)
	}
	if !bytes.Equal(c.text, disk.Text.Data) {
		c.text, c.index = disk.Text.Data, text.NewLineIndex(disk.Text.Data)
	}
	c.rawSHA, c.enc, c.mode, c.base.SHA256 = disk.SHA256, disk.Text, disk.Mode, disk.SHA256
}

// build computes the new text of the file. The caller holds mu.
func (t *target) build() {
	body, _ := t.c.current()
	t.exact(body)
	t.wants = slices.DeleteFunc(t.wants, func(wt want) bool {
		if lost := wt.h.state() != HunkPending; lost {
			t.lost = append(t.lost, wt)
			return true
		}
		return false
	})
	if len(t.wants) == 0 {
		t.end(stale, "its text was changed")
		return
	}
	slices.SortFunc(t.wants, func(a, b want) int {
		if a.h.start != b.h.start {
			return a.h.start - b.h.start
		}
		return a.h.end - b.h.end
	})
	t.base = slices.Clone(body)
	t.spans = t.splices()
	t.after = text.Apply(t.base, t.spans)
	for _, wt := range t.wants {
		wt.h.on(hunkBegin)
	}
}

// exact compares each wanted hunk with the text. While an apply was running, the hunk's range was
// tracked loosely and may include text that the user typed at its border. Only the hunk's own text
// may be replaced.
func (t *target) exact(text []byte) {
	for _, wt := range t.wants {
		h := wt.h
		h.on(hunkRelease)
		own := h.basis(t.c.applied)
		if h.state() != HunkPending || bytes.Equal(text[h.start:h.end], own) {
			continue
		}
		if at := bytes.Index(text[h.start:h.end], own); len(own) > 0 && at >= 0 &&
			bytes.Count(text[h.start:h.end], own) == 1 {
			h.start, h.end = h.start+at, h.start+at+len(own)
			continue
		}
		h.because(hunkLost, "its text was changed")
		t.c.refind(h, text)
	}
}

// lose ends a target that can no longer be applied, and makes its hunks stale. The caller holds mu.
func (t *target) lose(reason string) {
	for _, wt := range t.wants {
		wt.h.because(hunkLost, reason)
	}
	t.lost, t.wants = append(t.lost, t.wants...), nil
	t.end(stale, reason)
}

func (t *target) splices() []splice {
	out := make([]splice, len(t.wants))
	for i, wt := range t.wants {
		out[i] = splice{Start: wt.h.start, End: wt.h.end, Text: wt.text}
	}
	return out
}

// place sets the hunks' ranges to the positions of their texts in t.after. The caller holds mu.
func (t *target) place(spans []splice) {
	delta := 0
	for i, s := range spans {
		h := t.wants[i].h
		h.start = s.Start + delta
		h.end = h.start + len(s.Text)
		delta += len(s.Text) - (s.End - s.Start)
	}
}

// stageAll writes the new bytes of the closed files to disk, either all of them or none.
func (w *Workspace) stageAll(closed []*target) {
	var err error
	for _, t := range closed {
		var data []byte
		enc := t.disk.enc
		enc.Data = t.after
		if data, err = enc.Encode(); err == nil {
			t.staged, err = files.Stage(t.c.ref, data, t.disk.sha, 0)
		}
		if err != nil {
			break
		}
		w.mu.Lock()
		t.c.rawSHA = HashOf(data)
		w.mu.Unlock()
	}
	if err == nil {
		return
	}
	for _, t := range closed {
		t.end(failed, err.Error())
		if t.staged != nil {
			t.staged.Discard()
			t.staged = nil
		}
	}
}

func (w *Workspace) commitAll(closed []*target) {
	for _, t := range closed {
		w.mu.Lock()
		opened := t.c.doc != nil
		w.mu.Unlock()
		if opened {
			t.staged.Discard()
			t.end(skipped, "it was opened in the editor in the meantime")
			continue
		}
		err := t.staged.Commit()
		files.AtStep("committed")
		w.mu.Lock()
		switch {
		case errors.Is(err, files.ErrChanged):
			t.end(skipped, err.Error())
			t.release()
		case err != nil:
			t.end(failed, err.Error())
		default:
			w.committed(t)
		}
		w.mu.Unlock()
	}
}

// release ends the apply of the hunks that have no result, so that they follow the user's typing
// again. The caller holds mu.
func (t *target) release() {
	for _, wt := range t.wants {
		wt.h.on(hunkRelease)
	}
}

// committed records that the closed file now contains t.after. The caller holds mu.
func (w *Workspace) committed(t *target) {
	spans := t.spans
	t.end(done, "")
	if t.c.doc != nil {
		return
	}
	for _, other := range w.tracked[t.c.ref.Key] {
		if other == t.c {
			w.shiftOwn(t, spans)
		} else if other.doc == nil {
			w.shiftOther(other, spans, t.after)
		}
	}
}

// shiftOwn moves the other hunks of the same change past the written text.
func (w *Workspace) shiftOwn(t *target, spans []splice) {
	for i := len(spans) - 1; i >= 0; i-- {
		t.c.move(spans[i], false)
	}
	t.place(spans)
	t.c.text, t.c.index = t.after, text.NewLineIndex(t.after)
}

// shiftOther moves another proposal's hunks. Hunks that overlap become stale.
func (w *Workspace) shiftOther(c *change, spans []splice, body []byte) {
	changed := false
	for i := len(spans) - 1; i >= 0; i-- {
		changed = c.move(spans[i], true) || changed
	}
	c.text, c.index = body, text.NewLineIndex(body)
	if changed {
		c.p.revision++
		w.emit(c.p, Updated)
	}
}
