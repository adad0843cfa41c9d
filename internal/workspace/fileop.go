package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// carryOutFileOp creates, deletes or renames a file, or reverts the operation if it has already
// been applied. If the file is open, the editor makes the change if it can.
func (w *Workspace) carryOutFileOp(ctx context.Context, p *proposal, t *target) {
	c, h := t.c, t.wants[0].h
	var err error
	from, to := c.renaming()
	switch undo := c.applied; {
	case c.op == Create && !undo, c.op == Delete && undo:
		err = w.createFile(ctx, p, c, t.wants[0].text)
	case c.op == Create, c.op == Delete:
		err = w.deleteFile(ctx, p, c, h)
	default:
		err = w.renameFile(ctx, p, from, to, t.wants[0].text)
	}
	switch {
	case err == nil:
		t.after = t.wants[0].text
		t.end(done, "")
	case errors.Is(err, errMoved), errors.Is(err, files.ErrChanged), errors.Is(err, fs.ErrExist),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotCreated):
		t.end(conflict, err.Error())
	default:
		t.end(failed, err.Error())
	}
}

// renaming returns the current name of a file that a proposal renames, and the name that the next
// decision gives it. That is the old name if the rename has already been applied.
func (c *change) renaming() (from, to Ref) {
	if c.applied {
		return c.newRef, c.ref
	}
	return c.ref, c.newRef
}

func (w *Workspace) createFile(ctx context.Context, p *proposal, c *change, body []byte) error {
	if w.isOpen(c.ref.Key) {
		return fmt.Errorf("creating %s: it was opened in the editor in the meantime: %w", c.ref, fs.ErrExist)
	}
	enc := c.enc
	enc.Data = body
	data, err := enc.Encode()
	if err != nil {
		return fmt.Errorf("creating %s: %w", c.ref, err)
	}
	if w.opt.Client.Features().WritesNew && !c.applied && c.mode == 0 && bytes.Equal(data, body) {
		err = w.createByEditor(ctx, p, c.ref, data)
	} else {
		err = files.Write(c.ref, data, "", c.mode)
	}
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.rawSHA = HashOf(data)
	c.base.SHA256 = ""
	c.hunks[0].start, c.hunks[0].end = 0, len(body)
	c.text, c.index = body, text.NewLineIndex(body)
	return nil
}

// createByEditor asks the editor to write a new file. The result is visible on disk or in the
// file's buffer.
func (w *Workspace) createByEditor(ctx context.Context, p *proposal, ref Ref, data []byte) error {
	if _, err := files.Stat(ref); err == nil {
		return fmt.Errorf("creating %s: %w", ref, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("creating %s: %w", ref, err)
	}
	there := func() bool {
		if f := w.readBuffer(ref); f != nil {
			return bytes.Equal(f.Text.Data, data)
		}
		raw, _, err := files.Read(ref)
		return err == nil && bytes.Equal(raw, data)
	}
	if err := w.viaEditor(ctx, p, FileOp{Op: Create, URI: ref.URI, Text: string(data)}, there,
		there); err != nil {
		return fmt.Errorf("%w: %w", errNotCreated, err)
	}
	return nil
}

// errNotCreated is the error that ends a proposal whose file the editor did not create. The user
// has already decided, and the workspace does not repeat a request that the editor refused.
var errNotCreated = errors.New("the editor did not create the file")

func (w *Workspace) isOpen(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byKey(key) != nil
}

func (w *Workspace) deleteFile(ctx context.Context, p *proposal, c *change, h *hunk) error {
	if w.isOpen(c.ref.Key) && w.opt.Client.Features().Delete {
		gone := func() bool { return !files.Exists(c.ref) }
		return w.viaEditor(ctx, p, FileOp{Op: Delete, URI: c.ref.URI}, gone, gone)
	}
	return files.Remove(c.ref, c.rawSHA)
}

// viaEditor asks the editor for a file operation. When the editor answers, and at each document
// event, it checks whether the operation happened and was reported completely. Once verifyWait has
// passed after the answer, it is enough that the operation happened.
func (w *Workspace) viaEditor(ctx context.Context, p *proposal, op FileOp, happened,
	reported func() bool) error {
	answer := w.send(label(p), WorkspaceEdit{Files: []FileOp{op}})
	timer := time.NewTimer(replyWait)
	defer timer.Stop()
	aborted, refusal := ctx.Done(), ""
	for {
		changed := w.docEvents.wait()
		if happened() && reported() {
			return nil
		}
		select {
		case <-changed:
		case a := <-answer:
			answer = nil
			timer.Reset(verifyWait)
			if a.err != nil || !a.Applied {
				refusal = orElse(a.FailureReason, "the editor refused")
				timer.Reset(0)
			}
		case <-aborted:
			aborted = nil
			timer.Reset(abortWait)
		case <-timer.C:
			if happened() {
				return nil
			}
			return fmt.Errorf("%s %s: %s", op.Op, op.URI,
				orElse(refusal, "the editor did not make the change"))
		}
	}
}

// renameFile renames a file and writes text into it. If the text cannot be written, renameFile
// tries to revert the rename.
func (w *Workspace) renameFile(ctx context.Context, p *proposal, from, to Ref, text []byte) error {
	before, err := w.Read(ctx, from)
	if err != nil {
		return err
	}
	rewrites := !bytes.Equal(text, before.Text.Data)
	if err := w.move(ctx, p, before, to, rewrites); err != nil || !rewrites {
		return err // text that is typed from now on is kept
	}
	if err = w.rewrite(ctx, p, to, text); err == nil {
		return nil
	}
	after, rerr := w.Read(context.WithoutCancel(ctx), to)
	if rerr == nil && bytes.Equal(after.Text.Data, before.Text.Data) &&
		w.move(ctx, p, after, before.Ref, true) == nil {
		return err
	}
	return fmt.Errorf("%w: %w", errMoved, err)
}

// errMoved means that a file was renamed but its new text was not written, and that the rename
// could not be reverted.
var errMoved = errors.New("it was renamed, but its text was not changed")

// move renames a file, through the editor if the file is open there and the editor can do it. If
// announced is set, move waits until the editor has reported its open documents, and their texts
// take precedence.
func (w *Workspace) move(ctx context.Context, p *proposal, f *File, to Ref, announced bool) error {
	from := f.Ref
	var err error
	if f.Source == FromBuffer && w.opt.Client.Features().Rename {
		op := FileOp{Op: Rename, URI: from.URI, NewURI: to.URI}
		moved := func() bool { return files.Exists(to) && !files.Exists(from) }
		// An editor renames the file on disk first and reports the new file later, with the old
		// text. Its next save would revert any text written to the file in the meantime.
		reported := func() bool { return !announced || w.isOpen(to.Key) && !w.isOpen(from.Key) }
		err = w.viaEditor(ctx, p, op, moved, reported)
	} else {
		err = files.Move(from, to)
	}
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renames = append(w.renames, &rename{from.Path, to.Path}) // also moves other proposals
	return nil
}

// rewrite writes text into a file that was just moved, through the editor if the file is open.
func (w *Workspace) rewrite(ctx context.Context, p *proposal, ref Ref, text []byte) error {
	f, err := w.Read(ctx, ref)
	if err != nil {
		return err
	}
	sub := &proposal{origin: origin{id: p.id, title: p.title, kind: partProposal}}
	c, err := w.newModify(ctx, sub,
		Change{Op: Modify, Ref: f.Ref, Data: text, Hunks: edit.Hunks(f.Text.Data, text)}, f)
	if err != nil || c == nil {
		return err
	}
	w.mu.Lock()
	c.doc = w.byKey(ref.Key)
	w.track(c)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.untrack(c)
		w.mu.Unlock()
	}()
	t := &target{c: c}
	for _, h := range c.hunks {
		t.wants = append(t.wants, want{h, h.new})
	}
	if open := w.prepare(t); t.status == todo && open {
		w.applyBuffers(ctx, p, []*target{t})
	} else if t.status == todo {
		w.stageAll([]*target{t})
		w.commitAll(live([]*target{t}))
	}
	if !t.made() {
		return fmt.Errorf("changing %s: %s", ref, t.reason)
	}
	return nil
}
