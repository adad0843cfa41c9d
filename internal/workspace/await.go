package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// Outcome is the result of a proposal, for the edit call that made it.
type Outcome struct {
	ProposalID string
	State      State
	Text       string // for the model
	Accepted   int    // hunks
	Total      int
	Pending    int
	Denied     bool // the user rejected every hunk
	CutOff     bool // undecided, but the proposal outlives the call
	Changed    []Ref
}

// steered is a cancellation cause with the message that the user sent instead of a decision.
type steered interface{ SteerText() string }

// restarts is a cancellation cause for the end of the process, which is not a decision.
type restarts interface{ Restarts() bool }

// Await waits until an Ask proposal is decided, or until a Confirm proposal is confirmed. For the
// other policies it returns immediately. If ctx ends first, undecided hunks are withdrawn. If the
// cause of ctx has a SteerText, they are instead rejected with that text as the comment. In both
// cases, the outcome says so and the error is nil. If the cause's Restarts method returns true, an
// Ask proposal stays pending across the restart.
func (w *Workspace) Await(ctx context.Context, proposalID string) (Outcome, error) {
	w.mu.Lock()
	p := w.proposals.byID[proposalID]
	w.mu.Unlock()
	if p == nil {
		return Outcome{}, fmt.Errorf("waiting for %s: %w", proposalID, ErrUnknownProposal)
	}
	switch p.policy {
	case Ask:
		select {
		case <-p.done:
		case <-ctx.Done():
			var r restarts
			if errors.As(context.Cause(ctx), &r) && r.Restarts() {
				if out, pending := w.cutOff(p); pending {
					return out, nil
				}
			}
			w.endWait(ctx, p)
		}
	case Confirm:
		w.confirm(ctx, p)
	}
	return w.outcome(p), nil
}

// cutOff returns the outcome of a call that can no longer wait, because the process is shutting
// down.
func (w *Workspace) cutOff(p *proposal) (out Outcome, pending bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Outcome{ProposalID: p.id, State: p.state(), Text: "interrupted by a restart; proposal " +
		p.id + " is still pending", CutOff: true}, !p.closed()
}

// endWait closes a proposal whose waiting call ends. If a decision is running, endWait first waits
// for it, for a limited time.
func (w *Workspace) endWait(ctx context.Context, p *proposal) {
	timer := time.NewTimer(abortWait)
	defer timer.Stop()
	select {
	case p.sem <- struct{}{}:
		defer func() { <-p.sem }()
	case <-p.done:
		return
	case <-timer.C:
	}
	var s steered
	if errors.As(context.Cause(ctx), &s) {
		w.withdraw(p, s.SteerText(), proposalRejected)
	} else {
		w.withdraw(p, "", proposalWithdrawn)
	}
}

// withdraw closes a proposal and rejects its undecided hunks.
func (w *Workspace) withdraw(p *proposal, comment string, phase proposalPhase) {
	w.mu.Lock()
	if p.closed() {
		w.mu.Unlock()
		return
	}
	accepted := p.anyIn(HunkAccepted)
	for _, c := range p.changes {
		for _, h := range c.hunks {
			if h.open() {
				h.on(hunkReject)
				h.comment = comment
			}
		}
	}
	if accepted {
		phase = proposalPartial
	}
	p.revision++
	w.close(p, phase)
	w.mu.Unlock()
	w.persist(p)
	w.deliver()
}

// DropSession withdraws all open proposals of a deleted session and forgets everything stored about
// it. Text that is already in the files stays there.
func (w *Workspace) DropSession(sessionID string) {
	for _, p := range w.open(sessionID) {
		w.withdraw(p, "", proposalWithdrawn)
	}
	w.reads.DropSession(sessionID)
	w.forgetSession(sessionID)
}

func (w *Workspace) open(sessionID string) []*proposal {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*proposal
	for _, p := range w.proposals.order {
		if p.session == sessionID && !p.closed() {
			out = append(out, p)
		}
	}
	return out
}

func (w *Workspace) outcome(p *proposal) Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := Outcome{ProposalID: p.id, State: p.state(), Text: p.report()}
	p.reported = o.Text
	if p.teller == tellByCall {
		p.teller = tellByOutcomes
	}
	rejected := 0
	for _, c := range p.changes {
		touched := c.applied
		for _, h := range c.hunks {
			o.Total++
			switch h.state() {
			case HunkAccepted:
				o.Accepted++
				touched = true
			case HunkPending:
				o.Pending++
			case HunkRejected:
				rejected++
			}
		}
		if touched {
			o.Changed = append(o.Changed, c.ref)
		}
	}
	o.Denied = o.Total > 0 && rejected == o.Total && p.state() == StateRejected
	w.stampOwn(p)
	return o
}

// Outcomes returns the results of decided proposals that the model does not know yet, and marks
// them as reported. At a boundary within a turn (prompt is false), Collect proposals wait for the
// next prompt.
func (w *Workspace) Outcomes(sessionID string, prompt bool) []string {
	w.mu.Lock()
	var out []string
	var reported []*proposal
	for _, p := range w.proposals.order {
		if p.session != sessionID || p.policy == Collect && !prompt {
			continue
		}
		switch {
		case p.untold():
			p.reported = p.report()
			w.stampOwn(p)
			out = append(out, fmt.Sprintf("%s (%s): %s", orElse(p.title, "edit"), p.id, p.reported))
			reported = append(reported, p)
		case p.closed() && p.kept && p.teller != tellByCall:
			reported = append(reported, p) // reported by its call, whose result is already stored
		}
	}
	w.mu.Unlock()
	for _, p := range reported {
		w.persist(p)
	}
	return out
}

// untold reports whether the model does not know the result of the proposal and no waiting call
// will report it. The caller holds mu.
func (p *proposal) untold() bool {
	return p.teller == tellByOutcomes && p.decided && p.report() != p.reported
}

// report describes the outcome in words. It is short and exact, and contains the user's own text as
// a diff. The caller holds mu.
func (p *proposal) report() string {
	total, accepted, pending := 0, 0, 0
	var parts, diffs []string
	for _, c := range p.changes {
		for _, h := range c.hunks {
			total++
			switch h.state() {
			case HunkAccepted:
				accepted++
			case HunkPending:
				pending++
			}
			part, diff := p.reportHunk(c, h)
			if part != "" {
				parts = append(parts, part)
			}
			if diff != "" {
				diffs = append(diffs, diff)
			}
		}
	}
	head := fmt.Sprintf("applied %d/%d hunks", accepted, total)
	if pending > 0 {
		head = p.pendingHead(accepted, pending, total)
	} else if p.state() == StateWithdrawn {
		head += "; the rest was withdrawn before the user decided"
	} else if p.state() == StateConflict {
		head += "; conflict"
	}
	text := strings.Join(append([]string{head}, append(parts, diffs...)...), "; ")
	if p.comment != "" {
		text = strings.TrimRight(text, "\n") + fmt.Sprintf("\nThe user says: %q", p.comment)
	}
	for _, n := range p.notes {
		text = strings.TrimRight(text, "\n") + "\n" + n
	}
	return text
}

func (p *proposal) pendingHead(accepted, pending, total int) string {
	switch p.policy {
	case Review:
		if !p.decided {
			return fmt.Sprintf("applied %s, which the user reviews and may still undo",
				hunks(total))
		}
		return fmt.Sprintf("kept %d/%d hunks; %d still under review", accepted, total, pending)
	case Collect:
		return fmt.Sprintf("collected: %s for the user to decide; nothing is on disk yet (proposal %s)", hunks(pending), p.id)
	}
	return fmt.Sprintf("applied %d/%d hunks; still waiting for the user: %d", accepted, total,
		pending)
}

func hunks(n int) string {
	if n == 1 {
		return "1 hunk"
	}
	return fmt.Sprintf("%d hunks", n)
}

func (p *proposal) reportHunk(c *change, h *hunk) (part, diff string) {
	name := fmt.Sprintf("hunk %d", h.ordinal)
	if len(p.changes) > 1 {
		name = fmt.Sprintf("hunk %d (%s)", h.ordinal, c.ref)
	}
	quote := ""
	if h.comment != "" {
		quote = fmt.Sprintf(": %q", h.comment)
	}
	switch {
	case h.state() == HunkRejected && p.state() == StateWithdrawn:
		return "", ""
	case h.state() == HunkRejected:
		return name + " rejected" + quote, ""
	case h.state() == HunkStale:
		return name + " not applied: " + orElse(h.reason, "its text was changed"), ""
	case h.state() == HunkAccepted && h.byUser != nil:
		d := edit.Unified("proposed", "user", h.new, h.byUser, diffContext)
		return "", name + " changed by the user" + quote + ":\n" +
			string(bytes.TrimRight([]byte(d), "\n")) + "\n"
	case h.state() == HunkAccepted && quote != "":
		return name + " accepted" + quote, ""
	}
	return "", ""
}
