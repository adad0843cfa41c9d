package agentapi

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// This file converts between the types of package wire and those of the engine and the workspace.

func ItemTo(it agent.Item) wire.Item {
	w := wire.Item{
		ItemID: it.ID, Type: string(it.Type), ParentItemID: it.ParentID, CreatedAt: it.CreatedAt,
		Content: blocksTo(
			it.Content,
		), Source: string(it.Source), Status: string(it.Status), Level: it.Level,
	}
	switch it.Type {
	case agent.ItemUser, agent.ItemAssistant, agent.ItemReasoning, agent.ItemNotice:
		w.Text, w.Pinned = &it.Text, it.Pinned
	case agent.ItemPlan:
		w.Entries = planTo(it.Plan)
	}
	if c := it.Call; c != nil {
		callTo(&w, c)
	}
	return w
}

func callTo(w *wire.Item, c *agent.CallItem) {
	w.CallID, w.Name, w.Label, w.Args = c.CallID, c.Name, c.Label, c.Args
	w.Content, w.Details, w.IsError = blocksTo(c.Content), c.Details, c.IsError
	w.DurationMs, w.ProposalID = c.Duration.Milliseconds(), c.ProposalID
	if len(w.Args) == 0 {
		w.Args = json.RawMessage("{}")
	}
	switch agent.ItemStatus(w.Status) {
	case agent.StatusPending,
		agent.StatusRunning,
		agent.StatusAwaitingPermission,
		agent.StatusAwaitingReview:
	default:
		w.Result = &c.Result
	}
	for _, l := range c.Locations {
		w.Locations = append(w.Locations, wire.Location{URI: l.URI, Range: rangeTo(l.Range)})
	}
}

func planTo(entries []tool.PlanEntry) []wire.PlanEntry {
	out := make([]wire.PlanEntry, len(entries))
	for i, e := range entries {
		out[i] = wire.PlanEntry(e)
	}
	return out
}

func rangeTo(r *message.Range) *wire.Range {
	if r == nil {
		return nil
	}
	return &wire.Range{Start: wire.Position(r.Start), End: wire.Position(r.End)}
}

func rangeFrom(r *wire.Range) *message.Range {
	if r == nil {
		return nil
	}
	return &message.Range{Start: message.Position(r.Start), End: message.Position(r.End)}
}

// blocksTo converts blocks, and omits those that only a provider understands.
func blocksTo(blocks []message.Block) []wire.ContentBlock {
	var out []wire.ContentBlock
	for _, b := range blocks {
		switch b.Type {
		case message.Text, message.Image, message.File, message.Resource:
			out = append(out, wire.ContentBlock{
				Type: string(b.Type), Text: b.Text, MimeType: b.MimeType, Data: b.Data, URL: b.URL,
				Name: b.Name, URI: b.URI, Range: rangeTo(b.Range),
			})
		}
	}
	return out
}

// blocksFrom checks and converts a prompt's blocks. The error names the invalid block.
func blocksFrom(field string, p wire.Prompt) ([]message.Block, error) {
	out := make([]message.Block, 0, len(p))
	for i, b := range p {
		at := field + "[" + itoa(i) + "]"
		switch message.BlockType(b.Type) {
		case message.Text:
		case message.Image:
			if len(b.Data) == 0 && b.URL == "" {
				return nil, Invalid(at, "an image needs data or url")
			}
		case message.File:
			if len(b.Data) == 0 {
				return nil, Invalid(at+".data", "is missing")
			}
		case message.Resource:
			if b.URI == "" {
				return nil, Invalid(at+".uri", "is missing")
			}
		default:
			return nil, Invalid(at+".type", "%q is not one of text, image, file, resource", b.Type)
		}
		out = append(out, message.Block{
			Type: message.BlockType(
				b.Type,
			), Text: b.Text, MimeType: b.MimeType, Data: b.Data, URL: b.URL,
			Name: b.Name, URI: b.URI, Range: rangeFrom(b.Range),
		})
	}
	return out, nil
}

func TurnTo(t agent.Turn) wire.Turn {
	w := wire.Turn{
		TurnID: t.TurnID, Status: string(t.Status), EndReason: string(t.EndReason),
		AbortPhase: t.AbortPhase,
		ModelCalls: t.ModelCalls, ToolCalls: t.ToolCalls, ToolErrors: t.ToolErrors,
		Usage: usageTo(t.Usage),
	}
	if t.Error != nil {
		w.Error = &wire.TurnError{
			Kind:      t.Error.Kind,
			Message:   t.Error.Message,
			Retryable: t.Error.Retryable,
		}
	}
	return w
}

func usageTo(u message.Usage) wire.Usage {
	w := wire.Usage{
		Input: u.Input, Output: u.Output, Cached: u.Cached, CacheWrite: u.CacheWrite,
		Reasoning: u.Reasoning,
		Total:     u.Total, Cost: u.Cost, CostEstimated: u.CostEstimated,
	}
	if u.Costs != (message.Costs{}) {
		c := wire.Costs(u.Costs)
		w.Costs = &c
	}
	return w
}

func queueTo(queue []agent.QueueEntry) []wire.QueueEntry {
	out := make([]wire.QueueEntry, 0, len(queue))
	for _, q := range queue {
		out = append(
			out,
			wire.QueueEntry{
				MessageID: q.MessageID,
				Delivery:  string(q.Delivery),
				Prompt:    NonNil(blocksTo(q.Content)),
			},
		)
	}
	return out
}

// SessionUpdated returns the params of session/updated without their stamp. The params always
// contain the whole state, so that a later notification supersedes an earlier one.
func SessionUpdated(s agent.State) *wire.SessionUpdated {
	usage := usageTo(s.Usage)
	return &wire.SessionUpdated{
		Status: string(s.Status), Title: s.Title, Usage: &usage, ContextTokens: s.ContextTokens,
		ContextWindow: s.ContextWindow, Queue: queueTo(s.Queue), Pinned: s.Pinned,
	}
}

func ProposalTo(p workspace.Proposal) wire.Proposal {
	w := wire.Proposal{
		ProposalID: p.ID, Revision: p.Revision, SessionID: p.SessionID, TurnID: p.TurnID,
		ItemID: p.ItemID,
		Title:  p.Title, State: string(p.State), Stat: wire.Stat(p.Stat),
		Files: make([]wire.ProposalFile, 0, len(p.Files)),
	}
	for _, f := range p.Files {
		file := wire.ProposalFile{
			Op: string(
				f.Op,
			), URI: f.URI, NewURI: f.NewURI, Placement: string(f.Placement), Version: f.Version,
			Base: wire.FileBase(f.Base), Hunks: make([]wire.Hunk, 0, len(f.Hunks)),
		}
		for _, h := range f.Hunks {
			file.Hunks = append(file.Hunks, hunkTo(h))
		}
		w.Files = append(w.Files, file)
	}
	return w
}

func hunkTo(h workspace.Hunk) wire.Hunk {
	return wire.Hunk{
		HunkID: h.ID, OldText: h.OldText, NewText: h.NewText, State: string(h.State),
		MatchTier: h.MatchTier,
		Range:     wire.Range{Start: wire.Position(h.Range.Start), End: wire.Position(h.Range.End)},
	}
}

func proposalsTo(ps []workspace.Proposal) []wire.Proposal {
	out := make([]wire.Proposal, 0, len(ps))
	for _, p := range ps {
		out = append(out, ProposalTo(p))
	}
	return out
}
