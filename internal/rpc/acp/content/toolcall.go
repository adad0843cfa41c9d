package content

import (
	"cmp"
	"encoding/base64"
	"encoding/json"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	// MaxRaw is the maximum size, in bytes, of a call's raw input and of the visible part of its
	// result.
	MaxRaw = 256 << 10
	// maxImage is the maximum size, in bytes, of an image in a result.
	maxImage = 1 << 20
)

// Shown is the part of a running call that the client sees in addition to the title and the status.
type Shown struct {
	Content []acp.ToolCallContent  // the call's diffs or terminal
	Places  []acp.ToolCallLocation // locations of its diffs
	Partial bool                   // whether some changes in Content were not applied
}

// kinds maps agent-lsp's tools to ACP tool kinds.
var kinds = map[string]acp.ToolKind{
	"read": acp.ToolKindRead, "ls": acp.ToolKindRead, "job": acp.ToolKindRead,
	"glob": acp.ToolKindSearch, "grep": acp.ToolKindSearch, "tool_search": acp.ToolKindSearch,
	"lsp":  acp.ToolKindSearch,
	"edit": acp.ToolKindEdit, "write": acp.ToolKindEdit, "apply_patch": acp.ToolKindEdit,
	"lsp_rename": acp.ToolKindEdit, "lsp_action": acp.ToolKindEdit,
	"bash": acp.ToolKindExecute, "fetch": acp.ToolKindFetch, "web_search": acp.ToolKindFetch,
	"ask_user": acp.ToolKindOther,
	"plan":     acp.ToolKindThink, "recall": acp.ToolKindThink, "remember": acp.ToolKindThink,
}

// kindOf returns the kind of a call. A tool that is not in the table has the kind other, or the
// kind edit once it has proposed an edit.
func kindOf(w *wire.Item) acp.ToolKind {
	if k, ok := kinds[w.Name]; ok {
		return k
	}
	if w.ProposalID != "" {
		return acp.ToolKindEdit
	}
	return acp.ToolKindOther
}

func statusOf(status string) acp.ToolCallStatus {
	switch status {
	case "running":
		return acp.ToolCallStatusInProgress
	case "completed":
		return acp.ToolCallStatusCompleted
	case "failed", "denied", "skipped", "cancelled":
		return acp.ToolCallStatusFailed
	}
	return acp.ToolCallStatusPending
}

func titleOf(w *wire.Item) string { return cmp.Or(w.Label, w.Name, "Tool") }

// rawInput returns the arguments from the model if they are JSON and not too long to show. It
// returns nil for the empty object that represents arguments that are still arriving, because
// clients would show this object.
func rawInput(args json.RawMessage) any {
	if len(args) <= len("{}") || len(args) > MaxRaw || !json.Valid(args) {
		return nil
	}
	return args
}

// locationsOf returns the locations with which the client can follow the agent. The ACP counts
// lines from 1.
func locationsOf(w *wire.Item) []acp.ToolCallLocation {
	var out []acp.ToolCallLocation
	for _, l := range w.Locations {
		loc := acp.ToolCallLocation{Path: PathOf(l.URI)}
		if l.Range != nil {
			loc.Line = acp.Ptr(int(l.Range.Start.Line) + 1)
		}
		if loc.Path != "" {
			out = append(out, loc)
		}
	}
	return out
}

// metaOf returns the properties of an item for which the ACP has no field.
func metaOf(w *wire.Item) map[string]any {
	m := map[string]any{"tool": w.Name, "status": w.Status}
	if w.ParentItemID != "" {
		m["parentToolCallId"] = w.ParentItemID
	}
	if w.ProposalID != "" {
		m["proposalId"] = w.ProposalID
	}
	return map[string]any{"agentLsp": m}
}

// ToolCall returns the update that shows a new call.
func ToolCall(w *wire.Item) *acp.SessionUpdateToolCall {
	return &acp.SessionUpdateToolCall{ToolCallId: acp.ToolCallId(w.ItemID), Title: titleOf(w),
		Kind:   kindOf(w),
		Status: statusOf(w.Status), Locations: locationsOf(w), RawInput: rawInput(w.Args),
		Meta: metaOf(w)}
}

// ToolUpdate returns an update of some fields of a call.
func ToolUpdate(itemID string, opts ...acp.ToolCallUpdateOpt) acp.SessionUpdate {
	return acp.UpdateToolCall(acp.ToolCallId(itemID), opts...)
}

// ChangedCall returns an update of a running call.
func ChangedCall(w *wire.Item) *acp.SessionToolCallUpdate {
	return &acp.SessionToolCallUpdate{ToolCallId: acp.ToolCallId(w.ItemID),
		Title: acp.Ptr(titleOf(w)), Kind: acp.Ptr(kindOf(w)),
		Status: acp.Ptr(statusOf(w.Status)), Locations: locationsOf(w), RawInput: rawInput(w.Args),
		Meta: metaOf(w)}
}

// EndedCall returns the update for a call that has ended, with the call's diffs and images. The
// update also shows the text that the model received if there are no diffs, if not all changes in
// the diffs were applied, or if the call failed.
func EndedCall(w *wire.Item, s Shown) *acp.SessionToolCallUpdate {
	u := ChangedCall(w)
	u.Content = s.Content
	if s.Places != nil {
		u.Locations = s.Places
	}
	if w.Result != nil {
		text := clip.Bytes(*w.Result, MaxRaw)
		if len(s.Content) == 0 || s.Partial || w.IsError || w.Status != "completed" {
			u.Content = append(u.Content[:len(u.Content):len(u.Content)],
				acp.ToolContent(acp.TextBlock(text)))
		}
		u.RawOutput = map[string]any{"result": text, "isError": w.IsError}
	}
	for _, b := range w.Content {
		if b.Type == "image" && len(b.Data) > 0 && len(b.Data) < maxImage {
			image := acp.ImageBlock(base64.StdEncoding.EncodeToString(b.Data), b.MimeType)
			u.Content = append(u.Content, acp.ToolContent(image))
		}
	}
	return u
}
