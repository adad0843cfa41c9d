package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// Change is the intended effect of an edit on one file.
type Change struct {
	Op     Op
	Ref    Ref
	NewRef Ref // only for Rename
	// Data is the new text, in the form of File.Text.Data. For Create it is the complete text. For
	// Rename, nil keeps the old text.
	Data []byte
	Base string // the SHA256 of the File from which Data was made; "" to skip the check
	Tier string // how loosely the edit matched, for all hunks
	// Hunks, if set, are the hunks from the base's text to Data, with their tiers.
	Hunks []edit.Hunk
}

// ProposeRequest asks for a proposal.
type ProposeRequest struct {
	SessionID, TurnID, ItemID string
	// Reader is the session of the sub-agent whose read records are updated. "" means the session's
	// own agent.
	Reader    string
	MessageID string // message ID of the prompt, for the checkpoint
	Title     string // such as "Edit main.go"
	Policy    Policy
	Changes   []Change
}

// proposeRetries is the maximum number of times that hunks are computed again because the user
// types.
const proposeRetries = 8

// Propose creates a proposal. Under Ask, Confirm and Collect, it returns when the proposal is
// registered. Under Auto and Review, it returns after its changes were applied. Await then waits
// for the decision, if one is needed. An error is for the model and means that nothing has changed.
func (w *Workspace) Propose(ctx context.Context, req ProposeRequest) (*Proposal, error) {
	if err := checkRequest(req); err != nil {
		return nil, err
	}
	w.canonicalizeDocs()
	switch {
	case req.Policy == Collect:
		return w.collect(ctx, req)
	case req.Policy == Confirm && !w.opt.Client.Features().ChangeAnnotations:
		req.Policy = Ask // an editor that cannot ask the user would apply the edit without asking
	}
	p, err := w.draft(ctx, req, newProposal(req, w))
	if err != nil {
		return nil, err
	}
	if p.policy == Auto || p.policy == Review {
		return w.applyNow(ctx, p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.view(p)
	return &v, nil
}

func checkRequest(req ProposeRequest) error {
	if len(req.Changes) == 0 {
		return fmt.Errorf("proposing %s: %w", req.Title, ErrNoChange)
	}
	seen := map[string]bool{}
	for _, ch := range req.Changes {
		for _, r := range []Ref{ch.Ref, ch.NewRef} {
			if r.Key == "" {
				continue
			}
			if seen[r.Key] {
				return fmt.Errorf(
					"proposing %s: %s is changed twice in one call; make it one change",
					req.Title,
					r,
				)
			}
			seen[r.Key] = true
			if path.IsNotebook(r.Rel) {
				return fmt.Errorf("proposing %s: %s: %w", req.Title, r, path.ErrNotebook)
			}
		}
	}
	return nil
}

func (r *ProposeRequest) reader() string {
	if r.Reader != "" {
		return r.Reader
	}
	return r.SessionID
}

func newProposal(req ProposeRequest, w *Workspace) *proposal {
	return &proposal{
		origin: origin{
			id: newID("p"), session: req.SessionID, reader: req.reader(), turn: req.TurnID,
			item: req.ItemID, message: req.MessageID, title: req.Title, policy: req.Policy,
			created: w.opt.Now(),
		},
		revision: 1,
		sem:      make(chan struct{}, 1), done: make(chan struct{}),
		teller: firstTeller(req.Policy),
	}
}

func newID(kind string) string {
	var b [9]byte
	_, _ = rand.Read(b[:])
	return kind + "_" + hex.EncodeToString(b[:])
}

// draft computes the hunks and registers the proposal. If a document changes before the
// registration, draft computes the hunks again.
func (w *Workspace) draft(ctx context.Context, req ProposeRequest, p *proposal) (*proposal, error) {
	for range proposeRetries {
		if err := w.compute(ctx, req, p); err != nil {
			return nil, err
		}
		if len(p.changes) == 0 && len(p.refused) == 0 {
			return nil, fmt.Errorf("proposing %s: %w", req.Title, ErrNoChange)
		}
		if w.register(p) {
			if p.kind != restoreProposal {
				w.persist(p)
			}
			w.deliver()
			return p, nil
		}
	}
	return nil, fmt.Errorf("proposing %s: the text kept changing; try again", req.Title)
}

// compute computes the hunks from the current files. For a restore, it records the changes that
// cannot be made in p.refused.
func (w *Workspace) compute(ctx context.Context, req ProposeRequest, p *proposal) error {
	p.changes, p.notes, p.refused = nil, nil, nil
	for _, ch := range req.Changes {
		c, err := w.newChange(ctx, p, ch)
		switch {
		case err != nil && p.kind == restoreProposal && ctx.Err() == nil:
			p.refused = append(p.refused, refusal{ch.Ref, err.Error()})
		case err != nil:
			return err
		case c != nil:
			p.changes = append(p.changes, c)
		}
	}
	return nil
}

// register links a proposal's changes to their documents and announces the proposal. It returns
// false if a document no longer has the text from which the hunks were computed.
func (w *Workspace) register(p *proposal) bool {
	p.number()
	diff := unified(w.sides(p))
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range p.changes {
		d := w.byKey(c.ref.Key)
		if (d != nil) != (c.doc != nil) || d != nil && !bytes.Equal(d.text, c.text) {
			return false
		}
	}
	p.diff = diff
	for _, c := range p.changes {
		if c.doc = w.byKey(c.ref.Key); c.doc != nil {
			c.text, c.index = nil, nil
		}
		w.track(c)
	}
	if p.kind == restoreProposal {
		return true
	}
	w.proposals.add(p)
	if p.policy != Auto && p.policy != Review {
		w.emit(p, Created)
	}
	return true
}

// number gives each hunk its number and id.
func (p *proposal) number() {
	n := 0
	for _, c := range p.changes {
		likes := map[[2]uint64]int{}
		for _, h := range c.hunks {
			n++
			h.ordinal = n
			what := [2]uint64{maphash.Bytes(docSeed, h.old), maphash.Bytes(docSeed, h.new)}
			if h.id == "" {
				h.id = hunkID(p, c, h, likes[what])
			}
			likes[what]++
		}
	}
}

// hunkID returns an id that identifies a change by its text and by its position among identical
// changes. The id lasts as long as the change, even if its lines move.
func hunkID(p *proposal, c *change, h *hunk, like int) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%d\n%d\n", p.id, c.ref.Key, like, len(h.old))
	sum.Write(h.old)
	sum.Write(h.new)
	return "h_" + hex.EncodeToString(sum.Sum(nil)[:9])
}

// newChange computes one file's hunks, or returns nil if the file already has the new content. The
// change's field doc is a marker that shows whether the file is open. register replaces it with the
// document.
func (w *Workspace) newChange(ctx context.Context, p *proposal, ch Change) (*change, error) {
	switch ch.Op {
	case Create:
		return w.newCreate(ctx, p, ch)
	case Delete, Rename:
		return w.newFileOp(ctx, p, ch)
	case Modify:
		f, err := w.Read(ctx, ch.Ref)
		if err != nil {
			return nil, err
		}
		return w.newModify(ctx, p, ch, f)
	}
	return nil, fmt.Errorf("proposing a change of %s: unknown operation %q", ch.Ref, ch.Op)
}

func (w *Workspace) newModify(
	ctx context.Context,
	p *proposal,
	ch Change,
	f *File,
) (*change, error) {
	if err := checkBase(ch, f); err != nil {
		return nil, err
	}
	if f.Source == FromDisk && f.Mode.Perm()&0o200 == 0 {
		return nil, fmt.Errorf("changing %s: it is read-only", ch.Ref)
	}
	data, formatted := w.format(ctx, p, ch.Ref, ch.Data)
	c := changeOf(p, ch, f)
	hunks := ch.Hunks
	if formatted || hunks == nil || !bytes.Equal(edit.ApplyHunks(f.Text.Data, hunks, nil), data) {
		hunks = edit.Hunks(f.Text.Data, data)
	}
	for _, h := range hunks {
		c.hunks = append(c.hunks, &hunk{
			start: h.BaseStart, end: h.BaseEnd, old: bytes.Clone(h.Old), new: bytes.Clone(h.New),
			tier: tierOf(ch, h),
		})
	}
	if len(c.hunks) == 0 {
		return nil, nil
	}
	return c, nil
}

func tierOf(ch Change, h edit.Hunk) string {
	if ch.Hunks != nil {
		return fmt.Sprint(h.Tier)
	}
	return orElse(ch.Tier, "T0")
}

func checkBase(ch Change, f *File) error {
	if ch.Base != "" && ch.Base != f.SHA256 && ch.Base != HashOf(f.Text.Data) {
		return &ChangedError{Path: ch.Ref.String()}
	}
	return nil
}

// changeOf creates a change to the file's current text, without hunks yet.
func changeOf(p *proposal, ch Change, f *File) *change {
	c := &change{
		p: p, op: ch.Op, ref: f.Ref, newRef: ch.NewRef, text: f.Text.Data, enc: f.Text,
		mode: f.Mode,
		base: Base{SHA256: f.SHA256, EOL: edit.EOL(f.Text.Data), BOM: f.Text.BOM},
	}
	c.index = text.NewLineIndex(c.text)
	c.enc.Data = nil
	if f.Source == FromDisk {
		c.rawSHA = f.SHA256
	} else {
		c.doc = &document{text: c.text, index: c.index, uri: f.Ref.URI, version: *f.Version}
	}
	return c
}

func (w *Workspace) newCreate(ctx context.Context, p *proposal, ch Change) (*change, error) {
	f, err := w.Read(ctx, ch.Ref)
	switch {
	case err == nil && f.Source == FromBuffer && f.Disk == nil && f.Dirty:
		// The document is open but was never saved, so the buffer is the only copy.
		ch.Op = Modify
		return w.newModify(ctx, p, ch, f)
	case err == nil:
		return nil, fmt.Errorf(
			"creating %s: the file already exists; edit it, or read it and then overwrite it",
			ch.Ref,
		)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case !ch.Ref.IsFile():
		return nil, fmt.Errorf("creating %s: %w", ch.Ref, path.ErrOutside)
	}
	data, _ := w.format(ctx, p, ch.Ref, ch.Data)
	c := &change{
		p: p, op: Create, ref: ch.Ref, base: Base{EOL: edit.EOL(data)},
		index: text.NewLineIndex(nil),
		hunks: []*hunk{{new: data, tier: orElse(ch.Tier, "T0")}},
	}
	return c, nil
}

func (w *Workspace) newFileOp(ctx context.Context, p *proposal, ch Change) (*change, error) {
	f, err := w.Read(ctx, ch.Ref)
	if err != nil {
		return nil, err
	}
	if !f.Ref.IsFile() {
		return nil, fmt.Errorf("%s %s: it is not a file on disk", ch.Op, ch.Ref)
	}
	if err := checkBase(ch, f); err != nil {
		return nil, err
	}
	c := changeOf(p, ch, f)
	h := &hunk{end: len(c.text), old: c.text, tier: orElse(ch.Tier, "T0")}
	if ch.Op == Rename {
		if err := w.checkRename(ctx, ch); err != nil {
			return nil, err
		}
		if h.new = c.text; ch.Data != nil && !bytes.Equal(ch.Data, c.text) {
			h.new, _ = w.format(ctx, p, ch.NewRef, ch.Data)
		}
	}
	c.hunks = []*hunk{h}
	return c, nil
}

func (w *Workspace) checkRename(ctx context.Context, ch Change) error {
	if !ch.NewRef.IsFile() {
		return fmt.Errorf("renaming %s: the new path is %w", ch.Ref, path.ErrOutside)
	}
	if _, err := w.Read(ctx, ch.NewRef); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("renaming %s: %s already exists", ch.Ref, ch.NewRef)
	}
	return nil
}

// format runs the user's formatter on a new text, so that formatting on save changes nothing.
func (w *Workspace) format(
	ctx context.Context,
	p *proposal,
	ref Ref,
	text []byte,
) (out []byte, changed bool) {
	if w.opt.Format == nil || ref.Path == "" || p.kind.final() {
		return text, false
	}
	out, err := w.opt.Format(ctx, ref.Path, text)
	if err != nil || out == nil || bytes.Equal(out, text) {
		return text, false
	}
	p.notes = append(p.notes, ref.String()+" was formatted before it was proposed.")
	return out, true
}

// applyNow applies a proposal under Auto or Review and announces it as applied.
func (w *Workspace) applyNow(ctx context.Context, p *proposal) (*Proposal, error) {
	p.sem <- struct{}{}
	defer func() { <-p.sem }()
	targets := p.targets(func(c *change, h *hunk) (want, bool) { return want{h, h.new}, true })
	if err := w.carryOut(ctx, p, targets); err != nil {
		return nil, w.forget(p, err)
	}
	w.runCheck(ctx, p, targets)
	w.mu.Lock()
	for _, t := range targets {
		w.appliedNow(p, t)
	}
	p.decided = p.policy == Auto
	closes := p.policy == Auto || !p.anyIn(HunkPending)
	if closes {
		w.emitAs(p, Created, p.closedPhase())
		w.close(p, p.closedPhase())
		p.become(p.closedPhase()) // a late change may have closed it already
	} else {
		p.become(p.openPhase())
		w.emit(p, Created)
	}
	v := w.view(p)
	w.mu.Unlock()
	w.persistDone(p)
	w.deliver()
	return &v, nil
}

// appliedNow records the result of applyNow for one file. The caller holds mu.
func (w *Workspace) appliedNow(p *proposal, t *target) {
	if !t.made() {
		t.c.reason = t.reason
		for _, wt := range slices.Concat(t.wants, t.lost) {
			wt.h.because(hunkLost, t.reason)
		}
		return
	}
	if t.status == divided {
		t.c.reason = t.reason
	}
	for _, wt := range t.lost {
		wt.h.because(hunkLost, orElse(wt.h.reason, t.reason))
	}
	if p.policy == Review {
		t.c.applied = true
		for _, wt := range t.lost {
			wt.h.on(hunkMissed)
		}
		return
	}
	for _, wt := range t.wants {
		wt.h.on(hunkAccept)
	}
}

// targets collects the text that pick returns for each hunk.
func (p *proposal) targets(pick func(*change, *hunk) (want, bool)) []*target {
	var out []*target
	for _, c := range p.changes {
		t := &target{c: c}
		for _, h := range c.hunks {
			if wt, ok := pick(c, h); ok {
				t.wants = append(t.wants, wt)
			}
		}
		if len(t.wants) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// forget removes a proposal of which nothing was applied, and returns err.
func (w *Workspace) forget(p *proposal, err error) error {
	w.mu.Lock()
	w.proposals.remove(func(o *proposal) bool { return o == p })
	for _, c := range p.changes {
		w.untrack(c)
	}
	w.mu.Unlock()
	w.persist(p)
	return err
}

// runCheck runs the configured check on the changed files and keeps its text for the model.
func (w *Workspace) runCheck(ctx context.Context, p *proposal, targets []*target) {
	seen := p.seen
	if p.seen = nil; w.opt.Check == nil {
		return
	}
	var paths []string
	for _, t := range targets {
		if t.made() && t.c.ref.Path != "" {
			paths = append(paths, t.c.ref.Path)
		}
	}
	if len(paths) == 0 {
		return
	}
	text, err := w.opt.Check(ctx, p.reader, paths, seen)
	if err != nil {
		text = "the check could not run: " + err.Error()
	}
	if text != "" {
		w.mu.Lock()
		p.notes = append(p.notes, text)
		w.mu.Unlock()
	}
}
