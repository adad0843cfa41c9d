package acp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/coder/acp-go-sdk"
	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/rpc/acp/content"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	acceptIt     = "accept"
	acceptAlways = "accept_always"
	rejectIt     = "reject"
	eachFile     = "each_file" // option to ask about each file separately
	eachHunk     = "each_hunk" // option to ask about each hunk of the file separately
)

// proposed shows a proposal's diffs with its tool call. It does not read from disk, which may
// block, because the caller holds a lock.
func (s *session) proposed(p *wire.Proposal) {
	pic := content.TakePicture(p, s.core.docs.known)
	s.mu.Lock()
	if _, known := s.pictures[p.ProposalID]; !known {
		s.pictures[p.ProposalID] = pic
	}
	s.mu.Unlock()
	s.show(p, pic.Diffs(isPending))
}

func isPending(h *wire.Hunk) bool { return h.State == "pending" }

// show sends the diffs of a proposal's tool call.
func (s *session) show(p *wire.Proposal, diffs []acp.ToolCallContent) {
	if len(diffs) == 0 {
		return
	}
	places := content.Places(p)
	s.mu.Lock()
	if it := s.items[p.ItemID]; it != nil {
		it.shown.Content, it.shown.Places = diffs, places
	}
	s.mu.Unlock()
	s.update(content.ToolUpdate(p.ItemID, acp.WithUpdateContent(diffs),
		acp.WithUpdateLocations(places)))
}

// decided ends the question about a proposal, because the question no longer needs an answer. The
// tool call then shows only the accepted changes.
func (s *session) decided(p *wire.Proposal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.reviews[p.ProposalID]; cancel != nil {
		cancel()
	}
	pic, it := s.pictures[p.ProposalID], s.items[p.ItemID]
	delete(s.pictures, p.ProposalID)
	if pic.Proposal == nil || it == nil {
		return
	}
	pic = pic.DecidedAs(p)
	if made := pic.Diffs(func(h *wire.Hunk) bool { return h.State == "accepted" }); len(made) > 0 {
		it.shown.Content, it.shown.Partial = made, p.State != "applied"
	}
}

// askReview asks about a proposal in the background.
func (s *session) askReview(proposalID string) {
	s.a.background(func(ctx context.Context) { s.review(ctx, proposalID) })
}

// reviewPending asks about the proposals that no tool call waits for. At the end of a turn, these
// are proposals under the policies collect and review. After a load, these are the session's open
// proposals.
func (s *session) reviewPending(ctx context.Context) {
	ctx, done := s.soleReview(ctx)
	defer done()
	s.setPending(false) // later proposals set it again
	params := wire.ProposalListParams{SessionID: s.id, State: "proposed"}
	res, err := ask(ctx, s.core, agentapi.Proposals.List, params)
	if err != nil {
		return
	}
	for _, p := range res.Proposals {
		s.setPending(true) // the proposal may stay undecided
		s.review(ctx, p.ProposalID)
	}
}

// soleReview ends an earlier run of reviewPending and its question, because a client may have
// dropped a question that arrived outside of a prompt. It returns the context of the new run and a
// function that ends the run.
func (s *session) soleReview(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	s.mu.Lock()
	before := s.reviewing
	s.reviewing = func() { cancel(); <-over }
	s.mu.Unlock()
	if before != nil {
		before()
	}
	return ctx, func() { cancel(); close(over) }
}

// mayPend reports whether a proposal may be undecided, because one was created or the session was
// loaded.
func (s *session) mayPend() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending
}

func (s *session) setPending(is bool) {
	s.mu.Lock()
	s.pending = is
	s.mu.Unlock()
}

// reviewFor runs reviewPending until the prompt is canceled.
func (s *session) reviewFor(turn *prompting) {
	ctx, done := context.WithCancel(s.a.ctx)
	defer done()
	go func() {
		select {
		case <-turn.cancelled:
			done()
		case <-ctx.Done():
		}
	}()
	s.reviewPending(ctx)
}

// review asks until no hunk is pending. It asks about all hunks together or, if the user prefers,
// about each file or hunk.
func (s *session) review(ctx context.Context, proposalID string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if s.reviews[proposalID] != nil {
		s.mu.Unlock()
		return
	}
	s.reviews[proposalID] = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.reviews, proposalID)
		s.mu.Unlock()
	}()
	var by grain
	for ctx.Err() == nil {
		params := wire.ProposalParams{ProposalID: proposalID}
		res, err := ask(ctx, s.core, agentapi.Proposals.Get, params)
		if err != nil {
			return
		}
		q := questionOf(&res.Proposal, by)
		if len(q.hunks) == 0 || !s.reviewOnce(ctx, q, &by) {
			return
		}
	}
}

// grain determines the number of hunks that one question covers.
type grain struct {
	files bool
	hunks string // the file whose hunks the user is asked about one by one
}

// question is a question about some or all pending hunks of a proposal.
type question struct {
	p     *wire.Proposal
	hunks []string // IDs of the hunks that the question covers
	title string
	place []acp.ToolCallLocation
	rest  bool // whether further hunks are pending
	files bool // whether the hunks belong to several files
	file  string
}

// questionOf returns a question about all pending hunks or, depending on by, about the pending
// hunks of the first file that has any or about the first hunk.
func questionOf(p *wire.Proposal, by grain) question {
	q := question{p: p, title: p.Title}
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			if !isPending(&h) {
				continue
			}
			if len(q.hunks) > 0 && (by.files && q.file != f.URI || by.hunks == q.file) {
				q.rest = true
				continue
			}
			if q.file == "" {
				q.file = f.URI
				q.place = []acp.ToolCallLocation{{Path: content.PathOf(f.URI),
					Line: acp.Ptr(int(h.Range.Start.Line) + 1)}}
			}
			q.files = q.files || q.file != f.URI
			q.hunks = append(q.hunks, h.HunkID)
		}
	}
	if (by.files || by.hunks != "") && len(q.place) > 0 {
		q.title = fmt.Sprintf("%s: %s:%d", p.Title, filepath.Base(q.place[0].Path),
			*q.place[0].Line)
	} else {
		q.place = content.Places(p)
	}
	return q
}

// reviewOnce asks once and applies the answer. It returns false if no further question is needed.
func (s *session) reviewOnce(ctx context.Context, q question, by *grain) bool {
	pic := s.look(q.p)
	diffs := pic.Diffs(func(h *wire.Hunk) bool {
		return isPending(h) &&
			slices.Contains(q.hunks, h.HunkID)
	})
	got, err := s.a.choose(ctx, acp.RequestPermissionRequest{
		SessionId: acp.SessionId(s.id), Options: reviewOptions(q),
		ToolCall: acp.ToolCallUpdate{ToolCallId: acp.ToolCallId(q.p.ItemID), Title: &q.title,
			Kind:   acp.Ptr(acp.ToolKindEdit),
			Status: acp.Ptr(acp.ToolCallStatusPending), Content: diffs, Locations: q.place},
		Meta: map[string]any{"agentLsp": map[string]any{"proposal": q.p}},
	})
	if ctx.Err() != nil || s.cancelling() {
		return false
	}
	if err != nil {
		got = new(permissionAnswer) // treat an error as a refusal
	}
	switch got.selected() {
	case eachFile:
		by.files = true
		return true
	case eachHunk:
		by.hunks = q.file
		return true
	case acceptAlways:
		_ = s.configure(ctx, map[string]any{optionEditPolicy: "auto"})
		s.tellOptions()
	}
	params := wire.ProposalResolveParams{ProposalID: q.p.ProposalID, Revision: &q.p.Revision,
		Decisions: decisionsOf(got, q), Comment: got.Meta.AgentLsp.Feedback}
	// The decision closes the proposal, which cancels ctx. The request must nevertheless be
	// completed.
	life := context.WithoutCancel(ctx)
	res, err := ask(life, s.core, agentapi.Proposals.Resolve, params)
	var e *jsonrpc2.Error
	if errors.As(err, &e) && int(e.Code) == wire.CodeStaleProposal {
		return true
	}
	return err == nil && len(res.Conflicts) == 0
}

// look returns the picture for a question. If texts were missing when the proposal was created,
// look also updates the diffs that the client shows.
func (s *session) look(p *wire.Proposal) content.Picture {
	pic := content.TakePicture(p, s.core.docs.looked)
	s.mu.Lock()
	before, known := s.pictures[p.ProposalID]
	better := known && before.Lacks() && !pic.Lacks() && before.Proposal.Revision == p.Revision
	if better {
		s.pictures[p.ProposalID] = pic
	}
	s.mu.Unlock()
	if better {
		s.show(p, pic.Diffs(isPending))
	}
	return pic
}

// cancelling reports that session/cancel has arrived. The abort then decides about the undecided
// hunks.
func (s *session) cancelling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn != nil && s.turn.done
}

// reviewOptions returns the options accept, reject, and ask about fewer hunks at a time. Many
// clients have one button per kind and use either the first or the last option of that kind. Both
// options must therefore affect only hunks that the user saw. If there are several files, such a
// client may have shown only the first one, so the last allowing option asks about each file. All
// hunks of a single file are in its diff, so the option to ask about each hunk has a kind for which
// these clients have no button.
func reviewOptions(q question) []acp.PermissionOption {
	accept, reject := "Accept", "Reject"
	if n := len(q.hunks); n > 1 {
		accept, reject = fmt.Sprintf("Accept all %d hunks", n), "Reject all"
	}
	out := []acp.PermissionOption{
		{OptionId: acceptIt, Name: accept, Kind: acp.PermissionOptionKindAllowOnce},
		{OptionId: rejectIt, Name: reject, Kind: acp.PermissionOptionKindRejectOnce},
		{OptionId: acceptAlways, Name: "Accept all edits of this session",
			Kind: acp.PermissionOptionKindAllowAlways},
	}
	switch {
	case q.files:
		out = append(out, acp.PermissionOption{OptionId: eachFile, Name: "Ask about each file",
			Kind: acp.PermissionOptionKindAllowOnce})
	case len(q.hunks) > 1:
		out = append(out, acp.PermissionOption{OptionId: eachHunk, Name: "Ask about each hunk",
			Kind: acp.PermissionOptionKindRejectAlways})
	}
	return out
}

// decisionsOf converts an answer to decisions. An answer that does not name an option rejects
// everything.
func decisionsOf(got *permissionAnswer, q question) []wire.Decision {
	if got.selected() != "" && len(got.Meta.AgentLsp.Decisions) > 0 {
		return got.Meta.AgentLsp.Decisions
	}
	action := "reject"
	switch got.selected() {
	case acceptAlways:
		return []wire.Decision{{HunkID: "*", Action: "accept"}}
	case acceptIt:
		action = "accept"
	case rejectIt:
	default:
		return []wire.Decision{{HunkID: "*", Action: "reject"}}
	}
	if !q.rest {
		return []wire.Decision{{HunkID: "*", Action: action}}
	}
	out := make([]wire.Decision, 0, len(q.hunks))
	for _, id := range q.hunks {
		out = append(out, wire.Decision{HunkID: id, Action: action})
	}
	return out
}
