package agentapi

import (
	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Notification returns the method and the params for an event of the host. Every event except a
// delta has a notification.
func Notification(s wire.Stamp, event any) (method string, params any) {
	switch e := event.(type) {
	case agent.TurnStarted:
		return wire.MethodTurnStarted,
			wire.TurnStarted{Stamp: s, TurnID: e.TurnID, MessageIDs: NonNil(e.MessageIDs)}
	case agent.TurnCompleted:
		return wire.MethodTurnCompleted,
			wire.TurnCompleted{Stamp: s, TurnID: e.Turn.TurnID, Turn: TurnTo(e.Turn)}
	case agent.ItemStarted:
		return wire.MethodItemStarted, itemEventTo(s, e.TurnID, e.Item)
	case agent.ItemUpdated:
		return wire.MethodItemUpdated, itemEventTo(s, e.TurnID, e.Item)
	case agent.ItemCompleted:
		return wire.MethodItemCompleted, itemEventTo(s, e.TurnID, e.Item)
	case agent.Retrying:
		return wire.MethodRetry, retryTo(s, e)
	case agent.Compacted:
		return wire.MethodCompaction, compactionTo(s, e)
	case agent.StateChanged:
		u := SessionUpdated(e.State)
		u.Stamp = s
		return wire.MethodSessionUpdated, u
	case host.ConfigChanged:
		u := SessionUpdated(e.State)
		u.Stamp, u.Config = s, Encode(e.Config)
		return wire.MethodSessionUpdated, u
	case workspace.ProposalEvent:
		return proposalEventTo(s, e)
	case host.QuestionClosed:
		return wire.MethodRequestResolved, wire.RequestResolved{Stamp: s, RequestID: e.RequestID}
	}
	panic("an event has no notification")
}

func itemEventTo(s wire.Stamp, turnID string, it agent.Item) wire.ItemEvent {
	return wire.ItemEvent{Stamp: s, TurnID: turnID, Item: ItemTo(it)}
}

func retryTo(s wire.Stamp, e agent.Retrying) wire.RetryScheduled {
	return wire.RetryScheduled{
		Stamp: s, TurnID: e.TurnID, Attempt: e.Attempt, MaxRetries: e.MaxRetries,
		DelayMs: e.Delay.Milliseconds(),
		Error:   wire.RetryError{Kind: e.Kind, Message: e.Message},
	}
}

func compactionTo(s wire.Stamp, e agent.Compacted) wire.Compaction {
	return wire.Compaction{
		Stamp: s, TurnID: e.TurnID, Strategy: e.Strategy,
		TokensBefore: e.TokensBefore, TokensAfter: e.TokensAfter,
		MessagesBefore: e.MessagesBefore, MessagesAfter: e.MessagesAfter,
	}
}

func proposalEventTo(s wire.Stamp, e workspace.ProposalEvent) (method string, params any) {
	p := ProposalTo(e.Proposal)
	switch e.Kind {
	case workspace.Created:
		return wire.MethodProposalCreated, wire.ProposalCreated{Stamp: s, Proposal: p, Diff: e.Diff}
	case workspace.Closed:
		return wire.MethodProposalClosed, wire.ProposalChanged{Stamp: s, Proposal: p}
	}
	return wire.MethodProposalUpdated, wire.ProposalChanged{Stamp: s, Proposal: p}
}

// NonNil returns s, or an empty slice instead of nil, so that JSON shows [] and not null.
func NonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
