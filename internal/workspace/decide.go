package workspace

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// Action is the effect of a decision on a hunk.
type Action string

// The actions.
const (
	Accept Action = "accept"
	Reject Action = "reject"
)

// Decision applies to one hunk, or with "*" to every pending hunk that no other decision names.
type Decision struct {
	HunkID  string
	Action  Action
	NewText *string // accept the hunk with this text instead
	Comment string  // for the model
}

// DecideRequest decides hunks of a proposal. Revision, if set, is the revision that the user saw.
type DecideRequest struct {
	ProposalID string
	Revision   *int
	Decisions  []Decision
	Comment    string
	// Answer, if set, gets the result before any event that the decision causes is sent, so that a
	// response precedes its notifications. It must not block or call back.
	Answer func(DecideResult)
}

// DecideResult is the result of a decision.
type DecideResult struct {
	Proposal  Proposal
	Applied   []AppliedFile
	Conflicts []Conflict
}

// AppliedFile is a file that a decision changed, and the hash of its new content.
type AppliedFile struct {
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
}

// Conflict is the reason why the decision about a hunk was not applied.
type Conflict struct {
	HunkID string `json:"hunkId"`
	Reason string `json:"reason"`
}

// decision is one hunk's decision while it is being applied.
type decision struct {
	c *change
	Decision
}

// Decide applies decisions, and returns after it has verified the editor's buffer or the file on
// disk. Decisions about the same proposal run one at a time, and each starts from the result of the
// previous one. Decide may block, and its caller must not hold a lock. Options.OnProposal and
// Answer must not call Decide, because Decide waits for both. The possible errors are
// ErrUnknownProposal, ErrUnknownHunk, ErrBadDecision, *StaleError, and the error of ctx.
func (w *Workspace) Decide(ctx context.Context, req DecideRequest) (DecideResult, error) {
	w.canonicalizeDocs()
	w.mu.Lock()
	p := w.proposals.byID[req.ProposalID]
	w.mu.Unlock()
	if p == nil {
		return DecideResult{}, fmt.Errorf("deciding on %s: %w", req.ProposalID, ErrUnknownProposal)
	}
	select {
	case p.sem <- struct{}{}:
		defer func() { <-p.sem }()
	case <-ctx.Done():
		return DecideResult{}, context.Cause(ctx)
	}
	return w.decide(ctx, p, req)
}

// decide is Decide for a caller that holds p.sem.
func (w *Workspace) decide(ctx context.Context, p *proposal,
	req DecideRequest) (DecideResult, error) {
	w.mu.Lock()
	ds, res, err := w.expand(p, req)
	var targets []*target
	if err == nil {
		targets = p.targets(func(c *change, h *hunk) (want, bool) { return c.wanted(h, ds[h]) })
	}
	w.mu.Unlock()
	if err != nil {
		return res, err
	}
	if len(targets) > 0 {
		if err := w.carryOut(ctx, p, targets); err != nil {
			return res, err
		}
		w.runCheck(ctx, p, targets)
	}
	w.conclude(p, req, ds, targets, &res)
	w.persistDone(p)
	files.AtStep("decision kept")
	w.deliver()
	return res, nil
}

// expand checks a request and finds the decision for each hunk. The caller holds mu.
func (w *Workspace) expand(p *proposal,
	req DecideRequest) (map[*hunk]*decision, DecideResult, error) {
	res := DecideResult{}
	if req.Revision != nil && *req.Revision < p.revision {
		return nil, res, &StaleError{Proposal: w.view(p)}
	}
	ds, rest := map[*hunk]*decision{}, (*Decision)(nil)
	for _, d := range req.Decisions {
		if d.Action != Accept && d.Action != Reject {
			return nil, res, fmt.Errorf("deciding on %s: action %q: %w: use accept or reject", p.id,
				d.Action, ErrBadDecision)
		}
		if d.HunkID == "*" {
			rest = &d
			continue
		}
		c, h := p.find(d.HunkID)
		if h == nil {
			return nil, res, fmt.Errorf("deciding on %s: hunk %q: %w", p.id, d.HunkID,
				ErrUnknownHunk)
		}
		if reason := w.refuse(c, h, d); reason != "" {
			res.Conflicts = append(res.Conflicts, Conflict{h.id, reason})
		} else if h.open() {
			ds[h] = &decision{c, d}
		}
	}
	named := func(h *hunk) bool {
		return slices.ContainsFunc(req.Decisions, func(d Decision) bool { return d.HunkID == h.id })
	}
	for _, c := range p.changes {
		for _, h := range c.hunks {
			if rest != nil && h.state() == HunkPending && !named(h) {
				ds[h] = &decision{c, *rest}
			}
		}
	}
	return ds, res, nil
}

func (p *proposal) find(hunkID string) (*change, *hunk) {
	for _, c := range p.changes {
		for _, h := range c.hunks {
			if h.id == hunkID {
				return c, h
			}
		}
	}
	return nil, nil
}

// refuse returns the reason why the decision cannot be made about the hunk, or "" if it can. The
// caller holds mu.
func (w *Workspace) refuse(c *change, h *hunk, d Decision) string {
	switch {
	case h.state() == HunkAccepted && d.Action == Reject, h.state() == HunkRejected &&
		d.Action == Accept:
		return "it was already " + string(h.state())
	case h.state() != HunkStale:
		return ""
	case c.op == Modify:
		text, _ := c.current()
		c.refind(h, text)
	}
	writes := (d.Action == Accept) != (c.applied && h.phase != hunkMissing) || d.NewText != nil
	if h.state() == HunkStale && writes {
		return orElse(h.reason, "its text was changed")
	}
	return ""
}

// wanted returns the text that a decision would write into the hunk's range, if any.
func (c *change) wanted(h *hunk, d *decision) (want, bool) {
	if d == nil || h.phase == hunkMissing {
		return want{}, false
	}
	text := h.new
	switch {
	case d.Action == Reject:
		text = h.old
	case d.NewText != nil:
		text = c.userText(*d.NewText)
	}
	if c.op == Modify && bytes.Equal(text, h.stands(c.applied)) {
		return want{}, false
	}
	if c.op != Modify && (d.Action == Accept) == c.applied {
		return want{}, false
	}
	return want{h, text}, true
}

// userText converts the line endings of text that the user typed to the file's line endings.
func (c *change) userText(s string) []byte {
	b := []byte(s)
	if c.base.EOL == "crlf" && !bytes.Contains(b, []byte("\r\n")) {
		return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	return b
}

// take marks a hunk as decided, with the text that is now in its range.
func (h *hunk) take(c *change, text []byte) {
	switch {
	case bytes.Equal(text, h.new):
		h.on(hunkAccept)
	case bytes.Equal(text, h.old):
		h.on(hunkReject)
	default:
		h.acceptAs(text)
	}
	h.reason = ""
}

// conclude records the result of each decision and notifies the clients and the waiting calls.
func (w *Workspace) conclude(p *proposal, req DecideRequest, ds map[*hunk]*decision,
	targets []*target, res *DecideResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if req.Comment != "" {
		p.comment = req.Comment
	}
	any := len(ds) > 0
	broken := p.concludeTargets(ds, targets, res)
	for h, d := range ds {
		if !h.open() {
			continue
		}
		h.decideWith(d)
		p.decided = true
	}
	if any {
		p.revision++
	}
	w.answer(p, req, targets, res)
	switch {
	case p.closed():
		p.become(p.closedPhase())
		w.emit(p, Updated)
	case broken && !p.anyIn(HunkPending):
		w.close(p, proposalFailed)
	case any:
		w.finish(p)
	}
	if !p.closed() {
		res.Proposal = w.view(p)
	}
}

// concludeTargets records the results of carryOut and reports whether a file is in conflict.
func (p *proposal) concludeTargets(ds map[*hunk]*decision, targets []*target,
	res *DecideResult) (broken bool) {
	for _, t := range targets {
		if t.inConflict() {
			t.c.reason, p.decided, broken = t.reason, true, true
		}
		for _, wt := range t.wants {
			d := ds[wt.h]
			delete(ds, wt.h)
			switch t.status {
			case done, divided:
				wt.h.decideWith(d)
				p.decided = true
				continue
			case conflict:
				wt.h.because(hunkLost, t.reason)
			}
			res.Conflicts = append(res.Conflicts, Conflict{wt.h.id, t.reason})
		}
		for _, wt := range t.lost {
			delete(ds, wt.h)
			res.Conflicts = append(res.Conflicts, Conflict{wt.h.id, orElse(wt.h.reason, t.reason)})
		}
	}
	return broken
}

// decideWith sets the hunk's state for a decision.
func (h *hunk) decideWith(d *decision) {
	h.comment = d.Comment
	h.reason = ""
	if d.Action == Reject {
		h.on(hunkReject)
		return
	}
	if d.NewText != nil {
		if text := d.c.userText(*d.NewText); !bytes.Equal(text, h.new) {
			h.acceptAs(text)
			return
		}
	}
	h.on(hunkAccept)
}

// acceptAs accepts a hunk with the user's own text, which may be empty.
func (h *hunk) acceptAs(text []byte) {
	h.on(hunkAccept)
	h.byUser = append([]byte{}, text...)
}

// answer completes the result and queues it before the events that follow. The caller holds mu.
func (w *Workspace) answer(p *proposal, req DecideRequest, targets []*target, res *DecideResult) {
	for _, t := range targets {
		if t.made() {
			res.Applied = append(res.Applied,
				AppliedFile{URI: t.c.resultURI(), SHA256: t.resultSHA()})
		}
	}
	res.Proposal = w.view(p)
	if !p.closed() && p.ends() {
		res.Proposal.State = proposalShown[p.closedPhase()]
	}
	if slices.ContainsFunc(targets, (*target).inConflict) {
		res.Proposal.State = StateConflict
	}
	if req.Answer != nil {
		r := *res
		w.events.put(func() { req.Answer(r) })
	}
}

func (c *change) resultURI() string {
	if c.op == Rename && c.newRef.URI != "" {
		return c.newRef.URI
	}
	return c.ref.URI
}

// resultSHA returns the hash of the file's content after the target was done.
func (t *target) resultSHA() string {
	if t.c.doc == nil && t.c.rawSHA != "" {
		return t.c.rawSHA
	}
	return HashOf(t.after)
}

// ends reports whether nothing is left to decide. A stale hunk of a proposal whose other hunks are
// decided can still be rejected, but only a call under Ask waits for that. Such a call does not
// wait for the hunks of a file in conflict.
func (p *proposal) ends() bool {
	switch {
	case p.anyIn(HunkPending):
		return false
	case !p.anyIn(HunkStale):
		return true
	case p.policy != Ask:
		return p.decided
	}
	return p.decided && !slices.ContainsFunc(p.changes, func(c *change) bool {
		return !c.inConflict() && slices.ContainsFunc(c.hunks,
			func(h *hunk) bool { return h.state() == HunkStale })
	})
}

func (p *proposal) anyIn(s HunkState) bool {
	for _, c := range p.changes {
		for _, h := range c.hunks {
			if h.state() == s {
				return true
			}
		}
	}
	return false
}

// finish closes a proposal that has ended. If the proposal has not ended, finish reports that it
// changed. The caller holds mu.
func (w *Workspace) finish(p *proposal) {
	if p.ends() {
		w.close(p, p.closedPhase())
		return
	}
	p.become(p.openPhase())
	w.emit(p, Updated)
}

// inConflict reports whether the file's text differs from the accepted text, and the conflict has
// not been resolved.
func (c *change) inConflict() bool {
	return c.reason != "" && slices.ContainsFunc(c.hunks,
		func(h *hunk) bool { return h.state() == HunkStale })
}

// close ends a proposal. It sends the last event, and then wakes the callers of Await. The caller
// holds mu.
func (w *Workspace) close(p *proposal, phase proposalPhase) {
	if p.closed() {
		return
	}
	if p.policy != Confirm {
		p.diff = unified(w.finalSides(p))
	}
	p.become(phase)
	for _, c := range p.changes {
		if !slices.ContainsFunc(c.hunks, (*hunk).open) {
			w.untrack(c)
		}
	}
	w.emit(p, Closed)
	w.events.put(func() { close(p.done) })
	w.trim(p.session)
}

// finalSides returns the texts that show what a closing proposal changed. The caller holds mu.
func (w *Workspace) finalSides(p *proposal) []side {
	sides := w.sides(p)
	accepted := func(h *hunk) bool { return h.state() == HunkAccepted }
	for i, c := range p.changes {
		text, _ := c.current()
		if c.op == Modify && apart(c.inOrder(accepted), len(text)) {
			sides[i].old, sides[i].hunks = c.without(accepted)
		}
	}
	return sides
}

// apart reports whether the hunks are in order, do not overlap, and are inside the text, whose
// length in bytes is size.
func apart(hunks []*hunk, size int) bool {
	at := 0
	for _, h := range hunks {
		if h.start < at || h.end > size {
			return false
		}
		at = h.end
	}
	return true
}

// trim forgets the oldest closed proposals of a session if there are more than maxClosed. It keeps
// those whose outcome the model does not know yet. The caller holds mu.
func (w *Workspace) trim(session string) {
	closed := 0
	for _, p := range w.proposals.order {
		if p.session == session && p.closed() {
			closed++
		}
	}
	w.proposals.remove(func(p *proposal) bool {
		if p.session != session || !p.closed() || closed <= maxClosed || p.untold() {
			return false
		}
		closed--
		for _, c := range p.changes {
			w.untrack(c)
		}
		return true
	})
}
