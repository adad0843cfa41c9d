package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// collect adds changes to the session's open Collect proposal, or creates one. If the proposal
// already changes a file, collect merges the edit into that change. The new hunks lead from the
// file's current content to the content that the agent intends.
func (w *Workspace) collect(ctx context.Context, req ProposeRequest) (*Proposal, error) {
	unlock, err := w.locks.Acquire(ctx, []string{"collect\x00" + req.SessionID})
	if err != nil {
		return nil, err
	}
	defer unlock()
	p := w.collecting(req.SessionID)
	if p == nil {
		if p, err = w.draft(ctx, req, newProposal(req, w)); err != nil {
			return nil, err
		}
	} else if err := w.grow(ctx, p, req); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.view(p)
	return &v, nil
}

// collecting returns the session's open Collect proposal.
func (w *Workspace) collecting(sessionID string) *proposal {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range slices.Backward(w.proposals.order) {
		if p.session == sessionID && p.policy == Collect && !p.closed() {
			return p
		}
	}
	return nil
}

func (w *Workspace) grow(ctx context.Context, p *proposal, req ProposeRequest) error {
	select {
	case p.sem <- struct{}{}:
		defer func() { <-p.sem }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for range proposeRetries {
		next, err := w.composed(ctx, p, req)
		if err != nil {
			return err
		}
		if w.regrow(p, next, req) {
			w.persist(p)
			w.deliver()
			return nil
		}
	}
	return fmt.Errorf("proposing %s: the text kept changing; try again", req.Title)
}

// composed computes the changed files of a growing proposal. A nil change removes the file from the
// proposal.
func (w *Workspace) composed(ctx context.Context, p *proposal,
	req ProposeRequest) (map[string]*change, error) {
	next := map[string]*change{}
	for _, ch := range req.Changes {
		old := p.changeOf(ch.Ref.Key)
		c, err := w.compose(ctx, p, old, ch)
		if err != nil {
			return nil, err
		}
		if c == nil && (old == nil || !slices.ContainsFunc(old.hunks, (*hunk).open)) {
			return nil, fmt.Errorf("proposing a change of %s: %w", ch.Ref, ErrNoChange)
		}
		next[ch.Ref.Key] = c
	}
	return next, nil
}

func (p *proposal) changeOf(key string) *change {
	for _, c := range p.changes {
		if c.ref.Key == key || c.op == Rename && c.newRef.Key == key {
			return c
		}
	}
	return nil
}

var errPendingMove = errors.New("a pending change moves or deletes it; the user must decide on that change first")

func (w *Workspace) compose(ctx context.Context, p *proposal, old *change,
	ch Change) (*change, error) {
	if old == nil || !slices.ContainsFunc(old.hunks, (*hunk).open) {
		return w.newChange(ctx, p, ch)
	}
	switch {
	case old.op == Rename || old.op == Delete || ch.Op == Rename:
		return nil, fmt.Errorf("changing %s: %w", ch.Ref, errPendingMove)
	case old.op == Create && ch.Op == Delete:
		return nil, nil
	case old.op == Create:
		ch.Op = Create
		return w.newCreate(ctx, p, ch)
	case ch.Op == Delete:
		return w.newFileOp(ctx, p, Change{Op: Delete, Ref: ch.Ref, Tier: ch.Tier})
	}
	f, err := w.Read(ctx, ch.Ref)
	if err != nil {
		return nil, err
	}
	if pending := w.pendingOver(old, f); ch.Base != "" && ch.Base != HashOf(pending) {
		return nil, &ChangedError{Path: ch.Ref.String()}
	}
	ch.Base, ch.Op = "", Modify
	ch.Hunks = retier(edit.Hunks(f.Text.Data, ch.Data), ch)
	return w.newModify(ctx, p, ch, f)
}

// pendingOver returns the new content of a file, which is the result of applying a change to the
// text that was just read. Both texts contain the changes that others made since the last edit, so
// a difference between them never reverts those changes.
func (w *Workspace) pendingOver(c *change, f *File) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.doc == nil && f.Source == FromDisk {
		w.ontoDisk(c, f)
	}
	if text, _ := c.current(); !bytes.Equal(text, f.Text.Data) {
		return nil // the user typed in the meantime, so no base fits
	}
	_, pending := c.texts()
	return pending
}

// retier gives composed hunks the loosest tier of the edit.
func retier(hunks []edit.Hunk, ch Change) []edit.Hunk {
	loosest := edit.T0
	for _, h := range ch.Hunks {
		loosest = max(loosest, h.Tier)
	}
	for i := range hunks {
		hunks[i].Tier = loosest
	}
	return hunks
}

// regrow stores the composed changes unless a document changed in the meantime.
func (w *Workspace) regrow(p *proposal, next map[string]*change, req ProposeRequest) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range next {
		if c == nil {
			continue
		}
		if d := w.byKey(c.ref.Key); (d != nil) != (c.doc != nil) || d != nil &&
			!bytes.Equal(d.text, c.text) {
			return false
		}
	}
	for _, ch := range req.Changes {
		w.swapChange(p, ch.Ref.Key, next[ch.Ref.Key])
	}
	p.turn, p.item, p.message = req.TurnID, req.ItemID, req.MessageID
	p.number()
	p.revision++
	if len(p.changes) == 0 {
		w.close(p, proposalSuperseded)
		return true
	}
	p.diff = unified(w.sides(p))
	w.emit(p, Updated)
	return true
}

// swapChange replaces one file of a proposal. Decided hunks are kept as a record. The caller holds
// mu.
func (w *Workspace) swapChange(p *proposal, key string, c *change) {
	at := slices.IndexFunc(p.changes, func(o *change) bool { return o.ref.Key == key })
	if c != nil {
		if c.doc = w.byKey(c.ref.Key); c.doc != nil {
			c.text, c.index = nil, nil
		}
		w.track(c)
	}
	switch {
	case at < 0:
		p.changes = append(p.changes, c)
		return
	case c == nil:
		w.untrack(p.changes[at])
		p.changes = slices.Delete(p.changes, at, at+1)
		return
	}
	old := p.changes[at]
	w.untrack(old)
	for _, h := range old.hunks {
		if old.op == Modify && c.op == Modify && h.state() != HunkPending {
			c.hunks = append(c.hunks, h)
		}
	}
	slices.SortStableFunc(c.hunks, func(a, b *hunk) int { return a.start - b.start })
	p.changes[at] = c
}

// pendingText returns a file with the session's collected changes, or nil if the changes delete it.
// The second result is false if no collected change affects the file.
func (w *Workspace) pendingText(sessionID string, ref Ref, f *File) (*File, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.proposals.order {
		if p.session != sessionID || p.policy != Collect || p.closed() {
			continue
		}
		c := p.changeOf(ref.Key)
		if c == nil || !slices.ContainsFunc(c.hunks,
			func(h *hunk) bool { return h.state() == HunkPending }) {
			continue
		}
		out := &File{Ref: ref, Source: FromPending, Mode: 0o644}
		if f != nil {
			*out = *f
			out.Source = FromPending
		}
		switch {
		case c.op == Delete, c.op == Rename && c.ref.Key == ref.Key:
			return nil, true
		case c.op == Modify:
			if c.doc == nil && f != nil && f.Source == FromDisk {
				w.ontoDisk(c, f)
			}
			_, out.Text.Data = c.texts()
		default:
			out.Text.Data = c.hunks[0].new
		}
		out.SHA256 = HashOf(out.Text.Data)
		return out, true
	}
	return nil, false
}
