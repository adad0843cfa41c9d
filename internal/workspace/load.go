package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// LoadSession restores a session's stored proposals after a restart. Pending proposals continue to
// wait, and Outcomes reports those that were decided but not reported. LoadSession is idempotent.
func (w *Workspace) LoadSession(ctx context.Context, sessionID string) error {
	if w.opt.StateDir == "" {
		return nil
	}
	ctx = context.WithoutCancel(
		ctx,
	) // a canceled read would lose hunks, so the load always finishes
	names, err := filepath.Glob(filepath.Join(w.sessionDir("proposals", sessionID), "*.json"))
	if err != nil {
		return err
	}
	w.sweep(sessionID)
	var loaded []*proposal
	for _, name := range names {
		var s storedProposal
		data, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(data, &s)
		}
		if err != nil {
			w.reportState(err)
			continue
		}
		w.mu.Lock()
		known := w.proposals.byID[s.ID] != nil
		w.mu.Unlock()
		if !known {
			loaded = append(loaded, w.fromStored(ctx, &s))
		}
	}
	slices.SortFunc(loaded, func(a, b *proposal) int { return a.created.Compare(b.created) })
	for _, p := range loaded {
		w.adopt(p)
		w.persist(p)
	}
	w.deliver()
	return nil
}

// sweep removes the temporary files that a crash left next to the files that the session last
// touched.
func (w *Workspace) sweep(sessionID string) {
	for _, name := range w.checkpoints.LastPaths(sessionID) {
		if ref, err := w.Resolve("", name); err == nil && ref.IsFile() {
			files.Sweep(ref)
		}
	}
}

// userText returns the text with which the user accepted the hunk, or nil if that is the proposed
// text.
func (h *storedHunk) userText() []byte {
	if !h.HasByUser {
		return nil
	}
	return append([]byte{}, h.ByUser...)
}

// fileState is a file's content after a restart. absent means that the file does not exist.
type fileState struct {
	text   []byte
	absent bool
}

func (w *Workspace) fromStored(ctx context.Context, s *storedProposal) *proposal {
	p := &proposal{
		origin: origin{
			id: s.ID, session: s.Session, reader: s.Session, turn: s.Turn, item: s.Item,
			message: s.Message, title: s.Title, policy: s.Policy, created: s.Created,
		},
		revision: s.Revision, phase: storedProposalPhase(s.State, s.Closed), decided: s.Decided,
		comment: s.Comment,
		notes:   s.Notes, reported: s.Reported, diff: s.Diff, sem: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
	if p.closed() {
		close(p.done)
	}
	for i := range s.Changes {
		p.changes = append(p.changes, w.changeFromStored(ctx, p, &s.Changes[i]))
	}
	for i, h := range p.allHunks() {
		h.ordinal = i + 1
	}
	return p
}

func (p *proposal) allHunks() []*hunk {
	var out []*hunk
	for _, c := range p.changes {
		out = append(out, c.hunks...)
	}
	return out
}

func (w *Workspace) changeFromStored(ctx context.Context, p *proposal, s *storedChange) *change {
	c := &change{
		p: p, op: s.Op, applied: s.Applied, base: s.Base, rawSHA: s.RawSHA, mode: s.Mode,
		reason: s.Reason,
		enc:    edit.Text{BOM: s.BOM, Encoding: s.Encoding},
	}
	for _, h := range s.Hunks {
		c.hunks = append(c.hunks, &hunk{
			id: h.ID, tier: h.Tier, start: h.Start, end: h.End, old: h.Old, new: h.New,
			phase: storedPhase(
				h.State,
				h.Missing,
			), byUser: h.userText(), comment: h.Comment, reason: h.Reason,
		})
	}
	now, err := w.resolveStored(ctx, c, s)
	c.text, c.index = now.text, text.NewLineIndex(now.text)
	if err != nil {
		c.loseAll(err.Error())
		return c
	}
	if c.op == Modify {
		c.relocate(s, now)
	} else {
		w.recognize(ctx, c, s, now)
	}
	return c
}

// resolveStored finds the files of a stored change again and reads their current content.
func (w *Workspace) resolveStored(
	ctx context.Context,
	c *change,
	s *storedChange,
) (now fileState, err error) {
	at := func(path, uri string) (Ref, error) {
		if path == "" {
			path = uri
		}
		return w.Resolve("", path)
	}
	c.ref = Ref{Key: s.Path, Path: s.Path, URI: s.URI, Rel: orElse(s.Path, s.URI)}
	ref, err := at(s.Path, s.URI)
	if err != nil {
		return now, err
	}
	c.ref = ref
	if s.NewPath != "" {
		if c.newRef, err = at(s.NewPath, ""); err != nil {
			return now, err
		}
		if s.Intent != "" {
			files.DropSecondName(c.renaming())
		}
	}
	f, err := w.Read(ctx, c.ref)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fileState{absent: true}, nil
	case err != nil:
		return now, err
	case f.Source == FromDisk:
		c.rawSHA, c.enc, c.mode = f.SHA256, edit.Text{
			BOM:      f.Text.BOM,
			Encoding: f.Text.Encoding,
		}, f.Mode
	}
	return fileState{text: f.Text.Data}, nil
}

func (c *change) loseAll(reason string) {
	for _, h := range c.hunks {
		if h.open() {
			h.because(hunkLost, reason)
		}
	}
}

// relocate finds the open hunks in the file's current content. If the content is the text that was
// about to be written, the decision was applied. If it is the old text, the decision was not
// applied.
func (c *change) relocate(s *storedChange, now fileState) {
	sha := HashOf(now.text)
	switch {
	case now.absent:
		c.loseAll("the file was deleted")
		return
	case s.Intent != "" && sha == s.Intent && s.Intent != s.TextSHA:
		c.carriedOut(s)
		return
	case sha == s.TextSHA:
		return
	}
	for i, h := range c.hunks {
		if h.open() && h.phase != hunkMissing {
			c.locate(h, s.Hunks[i], now.text)
		}
	}
}

// carriedOut treats the stored intent as done.
func (c *change) carriedOut(s *storedChange) {
	delta := 0
	for i, h := range c.hunks {
		h.start, h.end = h.start+delta, h.end+delta
		if !s.Hunks[i].HasWant {
			continue
		}
		want := s.Hunks[i].Want
		delta += len(want) - (h.end - h.start)
		h.end = h.start + len(want)
		if c.p.policy == Review && !s.Applied {
			continue
		}
		h.take(c, want)
		c.p.decided = true
	}
	if c.p.policy == Review && !s.Applied {
		c.applied = true
	}
}

// locate finds one hunk by its text and the text around it, or otherwise by its text alone.
func (c *change) locate(h *hunk, s storedHunk, text []byte) {
	body := h.stands(c.applied)
	for _, around := range []struct{ before, after []byte }{{s.Before, s.After}, {s.Before, nil},
		{nil, s.After}, {nil, nil}} {
		needle := slices.Concat(around.before, body, around.after)
		if len(needle) == 0 || bytes.Count(text, needle) != 1 {
			continue
		}
		h.start = bytes.Index(text, needle) + len(around.before)
		h.end, h.reason = h.start+len(body), ""
		h.on(hunkFound)
		return
	}
	h.because(hunkLost, "the file changed while the agent was not running")
}

// recognize finds out whether a file operation happened before the restart.
func (w *Workspace) recognize(ctx context.Context, c *change, s *storedChange, now fileState) {
	h := c.hunks[0]
	if !h.open() {
		return
	}
	applied, asProposed := now.absent, !now.absent && bytes.Equal(now.text, h.old)
	switch c.op {
	case Create:
		applied, asProposed = !now.absent && bytes.Equal(now.text, h.new), now.absent
	case Rename:
		applied = now.absent && files.Exists(c.newRef)
	}
	switch {
	case c.op == Rename && s.Intent != "" && w.movedOnly(ctx, c, s.Hunks[0].Want):
		h.because(hunkLost, errMoved.Error())
		c.reason, c.p.decided = errMoved.Error(), true
	case applied && !c.applied && s.Intent != "":
		c.p.decided = true
		if c.p.policy == Review {
			h.on(hunkFound)
			c.applied = true
		} else {
			h.on(hunkAccept)
		}
	case asProposed && c.applied && s.Intent != "":
		h.on(hunkReject)
		c.p.decided = true
	case asProposed == c.applied:
		h.because(hunkLost, "the file changed while the agent was not running")
	}
}

// movedOnly reports whether a file that was to be renamed and changed has its new name but its old
// text.
func (w *Workspace) movedOnly(ctx context.Context, c *change, text []byte) bool {
	from, to := c.renaming()
	was := c.hunks[0].basis(c.applied)
	f, err := w.Read(ctx, to)
	return err == nil && !files.Exists(from) && !bytes.Equal(was, text) &&
		bytes.Equal(f.Text.Data, was)
}

// adopt registers a loaded proposal and closes it if nothing is left to decide.
func (w *Workspace) adopt(p *proposal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.proposals.add(p)
	for _, c := range p.changes {
		if d := w.byKey(c.ref.Key); d != nil && c.ref.Key != "" {
			c.rebase(d.text)
			c.doc, c.text, c.index = d, nil, nil
		}
		if slices.ContainsFunc(c.hunks, (*hunk).open) {
			w.track(c)
		}
	}
	if !p.closed() && p.ends() {
		w.close(p, p.closedPhase())
	}
}
