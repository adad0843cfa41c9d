package acp

import (
	"context"
	"encoding/json"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// permissionAnswer is a RequestPermissionResponse; our own plugins may add to it.
type permissionAnswer struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
	Meta struct {
		AgentLsp struct {
			Feedback  string          `json:"feedback"`
			Decisions []wire.Decision `json:"decisions"`
		} `json:"agentLsp"`
	} `json:"_meta"`
}

// selected returns the chosen option, "" for none.
func (p *permissionAnswer) selected() string {
	if p.Outcome.Outcome != "selected" {
		return ""
	}
	return p.Outcome.OptionID
}

// choose asks by session/request_permission.
func (a *adapter) choose(ctx context.Context, r acp.RequestPermissionRequest) (*permissionAnswer, error) {
	var raw json.RawMessage
	if err := a.call(ctx, acp.ClientMethodSessionRequestPermission, r, &raw); err != nil {
		return nil, err
	}
	out := new(permissionAnswer)
	if json.Unmarshal(raw, out) != nil {
		out = new(permissionAnswer) // of the wrong shape: a refusal
	}
	return out, nil
}

// permission puts the core's question to the client.
func (a *adapter) permission(ctx context.Context, p wire.RequestPermissionParams) (any, error) {
	call := acp.ToolCallUpdate{ToolCallId: acp.ToolCallId(orDefault(p.ItemID, p.RequestID)), Title: &p.Title,
		Kind: acp.Ptr(kindOfSubject(p.Subject.Kind)), Status: acp.Ptr(acp.ToolCallStatusPending)}
	if p.Subject.Command != "" {
		call.RawInput = map[string]any{"command": p.Subject.Command, "cwd": p.Subject.Cwd}
	}
	for _, uri := range p.Subject.URIs {
		if path := pathOf(uri); path != "" {
			call.Locations = append(call.Locations, acp.ToolCallLocation{Path: path})
		}
	}
	for _, text := range []string{p.Reason, p.Preview} {
		if text != "" {
			call.Content = append(call.Content, acp.ToolContent(acp.TextBlock(clip(text))))
		}
	}
	r := acp.RequestPermissionRequest{SessionId: acp.SessionId(p.SessionID), ToolCall: call, Options: []acp.PermissionOption{}}
	for _, o := range p.Options {
		r.Options = append(r.Options, acp.PermissionOption{OptionId: acp.PermissionOptionId(o.OptionID), Name: o.Name, Kind: optionKind(o.Kind)})
	}
	got, err := a.choose(ctx, r)
	if err != nil || got.selected() == "" {
		return wire.RequestPermissionResult{Cancelled: true}, nil
	}
	return wire.RequestPermissionResult{OptionID: got.selected(), Feedback: got.Meta.AgentLsp.Feedback}, nil
}

func kindOfSubject(kind string) acp.ToolKind {
	switch kind {
	case "command":
		return acp.ToolKindExecute
	case "edit":
		return acp.ToolKindEdit
	case "read":
		return acp.ToolKindRead
	case "network":
		return acp.ToolKindFetch
	}
	return acp.ToolKindOther
}

// optionKind narrows our kinds to the ACP's; the option's name says how long it holds.
func optionKind(kind string) acp.PermissionOptionKind {
	switch kind {
	case "allow_session", "allow_always":
		return acp.PermissionOptionKindAllowAlways
	case "allow_once":
		return acp.PermissionOptionKindAllowOnce
	case "reject_always":
		return acp.PermissionOptionKindRejectAlways
	}
	return acp.PermissionOptionKindRejectOnce
}

// elicitation is what the client answers to elicitation/create.
type elicitation struct {
	Action  string `json:"action"`
	Content struct {
		Answer json.RawMessage `json:"answer"`
	} `json:"content"`
}

// ask puts the model's question to the user: as a form where the client has forms, else
// options as a permission. A free question that nobody can be asked is not offered.
func (a *adapter) ask(ctx context.Context, p wire.AskParams) (any, error) {
	if e := a.client.Elicitation; e != nil && e.Form != nil {
		return a.askForm(ctx, p)
	}
	if len(p.Options) == 0 {
		return nil, fail(codeMethodNotFound, "the client has no way to ask")
	}
	call := acp.ToolCallUpdate{ToolCallId: acp.ToolCallId(p.RequestID), Title: &p.Question, Kind: acp.Ptr(acp.ToolKindOther), Status: acp.Ptr(acp.ToolCallStatusPending)}
	r := acp.RequestPermissionRequest{SessionId: acp.SessionId(p.SessionID), ToolCall: call}
	for _, o := range p.Options {
		r.Options = append(r.Options, acp.PermissionOption{OptionId: acp.PermissionOptionId(o.Label), Name: o.Label, Kind: acp.PermissionOptionKindAllowOnce})
	}
	r.Options = append(r.Options, acp.PermissionOption{OptionId: "decline", Name: "Decline to answer", Kind: acp.PermissionOptionKindRejectOnce})
	got, err := a.choose(ctx, r)
	if err != nil {
		return wire.AskResult{Declined: true}, nil
	}
	for _, o := range p.Options {
		if got.selected() == o.Label {
			return wire.AskResult{Answer: o.Label}, nil
		}
	}
	return wire.AskResult{Declined: true}, nil
}

func (a *adapter) askForm(ctx context.Context, p wire.AskParams) (any, error) {
	params := map[string]any{"sessionId": p.SessionID, "mode": "form", "message": p.Question, "requestedSchema": map[string]any{
		"type": "object", "properties": map[string]any{"answer": answerSchema(p)}, "required": []string{"answer"}}}
	var res elicitation
	if err := a.call(ctx, acp.ClientMethodElicitationCreate, params, &res); err != nil || res.Action != "accept" {
		return wire.AskResult{Declined: true}, nil
	}
	var list []string
	if json.Unmarshal(res.Content.Answer, &list) == nil && len(list) > 0 {
		return map[string]any{"answer": list}, nil
	}
	var text string
	if json.Unmarshal(res.Content.Answer, &text) != nil || text == "" {
		return wire.AskResult{Declined: true}, nil
	}
	return wire.AskResult{Answer: text}, nil
}

// answerSchema is a text field, or a choice of the options.
func answerSchema(p wire.AskParams) map[string]any {
	if len(p.Options) == 0 {
		return map[string]any{"type": "string", "title": "Answer"}
	}
	choices := make([]any, 0, len(p.Options))
	for _, o := range p.Options {
		title := o.Label
		if o.Description != "" {
			title += ": " + o.Description
		}
		choices = append(choices, map[string]any{"const": o.Label, "title": title})
	}
	if p.Multi {
		return map[string]any{"type": "array", "title": "Answer", "items": map[string]any{"anyOf": choices}}
	}
	return map[string]any{"type": "string", "title": "Answer", "oneOf": choices}
}
