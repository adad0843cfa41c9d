package agentapi

import (
	"context"
	"errors"

	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// proposalStates are the valid values of state in agent/proposal/list.
var proposalStates = map[workspace.State]bool{
	"": true, workspace.StateProposed: true, workspace.StateApplied: true,
	workspace.StatePartial:  true,
	workspace.StateRejected: true, workspace.StateWithdrawn: true, workspace.StateConflict: true,
	workspace.StateSuperseded: true,
}

func (a Proposals) List(
	ctx context.Context,
	p *wire.ProposalListParams,
) (wire.ProposalListResult, error) {
	state := workspace.State(p.State)
	if !proposalStates[state] {
		return wire.ProposalListResult{}, Invalid("state", "%q is not a proposal state", p.State)
	}
	if p.SessionID != "" {
		if _, err := a.get(ctx, p.SessionID); err != nil {
			return wire.ProposalListResult{}, err
		}
	}
	return wire.ProposalListResult{
		Proposals: proposalsTo(a.Core().Workspace.List(p.SessionID, p.URI, state)),
	}, nil
}

func (a Proposals) Get(_ context.Context, p *wire.ProposalParams) (wire.ProposalGetResult, error) {
	if p.ProposalID == "" {
		return wire.ProposalGetResult{}, Invalid("proposalId", "is missing")
	}
	got, diff, err := a.Core().Workspace.Get(p.ProposalID)
	return wire.ProposalGetResult{Proposal: ProposalTo(got), Diff: diff}, err
}

// Resolve answers after the editor's buffer or the file on disk has been verified, and before any
// notification that the decision causes.
func (a Proposals) Resolve(
	ctx context.Context,
	p *wire.ProposalResolveParams,
) (wire.ProposalResolveResult, error) {
	if p.ProposalID == "" {
		return wire.ProposalResolveResult{}, Invalid("proposalId", "is missing")
	}
	decisions, err := decisionsFrom(p.Decisions)
	if err != nil {
		return wire.ProposalResolveResult{}, err
	}
	if owner := a.Core().Workspace.ProposalSession(p.ProposalID); owner != "" {
		if _, err := a.writable(ctx, owner); errors.Is(err, session.ErrLocked) {
			return wire.ProposalResolveResult{}, err
		}
	}
	done, err := a.Core().Workspace.Decide(ctx, workspace.DecideRequest{
		ProposalID: p.ProposalID, Revision: p.Revision, Decisions: decisions, Comment: p.Comment,
		Answer: func(r workspace.DecideResult) { a.holdFor(ctx, r.Proposal.SessionID) },
	})
	if err != nil {
		return wire.ProposalResolveResult{}, err
	}
	return resolvedTo(done), nil
}

func decisionsFrom(in []wire.Decision) ([]workspace.Decision, error) {
	if len(in) == 0 {
		return nil, Invalid("decisions", "is empty")
	}
	out := make([]workspace.Decision, len(in))
	for i, d := range in {
		at := "decisions[" + itoa(i) + "]"
		if d.HunkID == "" {
			return nil, Invalid(at+".hunkId", "is missing")
		}
		switch workspace.Action(d.Action) {
		case workspace.Accept, workspace.Reject:
		default:
			return nil, Invalid(at+".action", "%q is neither accept nor reject", d.Action)
		}
		out[i] = workspace.Decision{
			HunkID:  d.HunkID,
			Action:  workspace.Action(d.Action),
			NewText: d.NewText,
			Comment: d.Comment,
		}
	}
	return out, nil
}

func resolvedTo(r workspace.DecideResult) wire.ProposalResolveResult {
	out := wire.ProposalResolveResult{
		Proposal: ProposalTo(r.Proposal), Applied: make([]wire.AppliedFile, 0, len(r.Applied)),
		Conflicts: make([]wire.HunkConflict, 0, len(r.Conflicts)),
	}
	for _, a := range r.Applied {
		out.Applied = append(out.Applied, wire.AppliedFile(a))
	}
	for _, c := range r.Conflicts {
		out.Conflicts = append(out.Conflicts, wire.HunkConflict(c))
	}
	return out
}
