package acp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coder/acp-go-sdk"
	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	// maxHunkChoices bounds the hunks that are offered one by one in one question.
	maxHunkChoices = 12

	acceptAll    = "accept"
	acceptAlways = "accept_always"
	rejectAll    = "reject"
	acceptHunk   = "accept:" // + hunkId
)

// proposed shows a proposal's diff with its tool call.
func (s *session) proposed(p *wire.Proposal) {
	diffs := diffsOf(p)
	s.mu.Lock()
	if it := s.items[p.ItemID]; it != nil {
		it.diffs = diffs
	}
	s.mu.Unlock()
	s.update(toolUpdate(p.ItemID, acp.WithUpdateContent(diffs), acp.WithUpdateLocations(placesOf(p))))
}

func placesOf(p *wire.Proposal) []acp.ToolCallLocation {
	var out []acp.ToolCallLocation
	for _, f := range p.Files {
		if path := pathOf(f.URI); path != "" && len(f.Hunks) > 0 {
			out = append(out, acp.ToolCallLocation{Path: path, Line: acp.Ptr(int(f.Hunks[0].Range.Start.Line) + 1)})
		}
	}
	return out
}

// decided ends the question about a proposal that needs no answer any more.
func (s *session) decided(proposalID string) {
	s.mu.Lock()
	cancel := s.reviews[proposalID]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// askReview asks about a proposal beside everything else.
func (s *session) askReview(proposalID string) {
	s.a.background(func(ctx context.Context) { s.review(ctx, proposalID) })
}

// reviewPending asks about the proposals that nobody waits for: those of the policies collect
// and review at the end of a turn, and those of a session that was loaded.
func (s *session) reviewPending(ctx context.Context) {
	s.setPending(false) // what is made meanwhile counts again
	var res wire.ProposalListResult
	if s.core.call(ctx, wire.MethodProposalList, wire.ProposalListParams{SessionID: s.id, State: "proposed"}, &res) != nil {
		return
	}
	for _, p := range res.Proposals {
		s.setPending(true) // it may stay undecided
		s.review(ctx, p.ProposalID)
	}
}

// mayPend says that a proposal may be undecided: one was made, or the session is an old one.
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

// reviewFor is reviewPending until the prompt is cancelled.
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

// review asks until no hunk is pending. Each answer decides all hunks or one of them.
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
	for ctx.Err() == nil {
		var res wire.ProposalGetResult
		if s.core.call(ctx, wire.MethodProposalGet, wire.ProposalParams{ProposalID: proposalID}, &res) != nil {
			return
		}
		pending := pendingHunks(&res.Proposal)
		if len(pending) == 0 || !s.reviewOnce(ctx, &res.Proposal, pending) {
			return
		}
	}
}

// hunkOf is a pending hunk with its file.
type hunkOf struct {
	file wire.ProposalFile
	hunk wire.Hunk
}

func pendingHunks(p *wire.Proposal) []hunkOf {
	var out []hunkOf
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			if h.State == "pending" {
				out = append(out, hunkOf{f, h})
			}
		}
	}
	return out
}

// reviewOnce asks once and carries out the answer; false ends the asking.
func (s *session) reviewOnce(ctx context.Context, p *wire.Proposal, pending []hunkOf) bool {
	diffs := diffsOf(p)
	s.update(toolUpdate(p.ItemID, acp.WithUpdateContent(diffs), acp.WithUpdateLocations(placesOf(p))))
	got, err := s.a.choose(ctx, acp.RequestPermissionRequest{
		SessionId: acp.SessionId(s.id), Options: reviewOptions(pending),
		ToolCall: acp.ToolCallUpdate{ToolCallId: acp.ToolCallId(p.ItemID), Title: &p.Title, Kind: acp.Ptr(acp.ToolKindEdit),
			Status: acp.Ptr(acp.ToolCallStatusPending), Content: diffs, Locations: placesOf(p)},
		Meta: map[string]any{"agentLsp": map[string]any{"proposal": p}},
	})
	if ctx.Err() != nil || s.cancelling() {
		return false
	}
	if err != nil {
		got = new(permissionAnswer) // an error is a refusal
	}
	if got.selected() == acceptAlways {
		_ = s.configure(ctx, map[string]any{optionEditPolicy: "auto"})
		s.tellOptions()
	}
	params := wire.ProposalResolveParams{ProposalID: p.ProposalID, Revision: &p.Revision, Decisions: decisionsOf(got), Comment: got.Meta.AgentLsp.Feedback}
	var res wire.ProposalResolveResult
	// What it decides closes the proposal, which ends ctx, and goes on.
	err = s.core.call(context.WithoutCancel(ctx), wire.MethodProposalResolve, params, &res)
	var e *jsonrpc2.Error
	if errors.As(err, &e) && int(e.Code) == wire.CodeStaleProposal {
		return true
	}
	return err == nil && len(res.Conflicts) == 0
}

// cancelling says that session/cancel came: the abort settles what is undecided.
func (s *session) cancelling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn != nil && s.turn.done
}

// reviewOptions are accept all, reject all and, where there are several hunks, each alone.
func reviewOptions(pending []hunkOf) []acp.PermissionOption {
	accept, reject := "Accept", "Reject"
	if len(pending) > 1 {
		accept, reject = fmt.Sprintf("Accept all %d hunks", len(pending)), "Reject all"
	}
	out := []acp.PermissionOption{
		{OptionId: acceptAll, Name: accept, Kind: acp.PermissionOptionKindAllowOnce},
		{OptionId: rejectAll, Name: reject, Kind: acp.PermissionOptionKindRejectOnce},
		{OptionId: acceptAlways, Name: "Accept all edits of this session", Kind: acp.PermissionOptionKindAllowAlways},
	}
	if len(pending) < 2 {
		return out
	}
	for i, h := range pending[:min(len(pending), maxHunkChoices)] {
		out = append(out, acp.PermissionOption{OptionId: acp.PermissionOptionId(acceptHunk + h.hunk.HunkID), Kind: acp.PermissionOptionKindAllowOnce,
			Name: fmt.Sprintf("Accept hunk %d (%s:%d), then ask about the rest", i+1, filepath.Base(pathOf(h.file.URI)), h.hunk.Range.Start.Line+1),
			Meta: map[string]any{"agentLsp": map[string]any{"hunkId": h.hunk.HunkID}}})
	}
	return out
}

// decisionsOf reads an answer; whatever names no option is a refusal of all.
func decisionsOf(got *permissionAnswer) []wire.Decision {
	if got.selected() != "" && len(got.Meta.AgentLsp.Decisions) > 0 {
		return got.Meta.AgentLsp.Decisions
	}
	switch id := got.selected(); {
	case id == acceptAll || id == acceptAlways:
		return []wire.Decision{{HunkID: "*", Action: "accept"}}
	case strings.HasPrefix(id, acceptHunk):
		return []wire.Decision{{HunkID: strings.TrimPrefix(id, acceptHunk), Action: "accept"}}
	}
	return []wire.Decision{{HunkID: "*", Action: "reject"}}
}
