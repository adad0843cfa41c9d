package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp/content"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// permissionAnswer is a RequestPermissionResponse. agent-lsp's own plugins may extend it.
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

// selected returns the chosen option, or "" for none.
func (p *permissionAnswer) selected() string {
	if p.Outcome.Outcome != "selected" {
		return ""
	}
	return p.Outcome.OptionID
}

// choose asks the user with session/request_permission.
func (a *adapter) choose(ctx context.Context,
	r acp.RequestPermissionRequest) (*permissionAnswer, error) {
	var raw json.RawMessage
	if err := a.call(ctx, acp.ClientMethodSessionRequestPermission, r, &raw); err != nil {
		return nil, err
	}
	out := new(permissionAnswer)
	if json.Unmarshal(raw, out) != nil {
		out = new(permissionAnswer) // the type is wrong, so treat the answer as a refusal
	}
	return out, nil
}

// permission passes a question from the core to the client. lasting describes what an answer for
// the session or the workspace allows.
func (a *adapter) permission(ctx context.Context, p wire.RequestPermissionParams,
	lasting string) policy.Reply {
	call := acp.ToolCallUpdate{ToolCallId: acp.ToolCallId(cmp.Or(p.ItemID, p.RequestID)),
		Title: &p.Title,
		Kind:  acp.Ptr(kindOfSubject(p.Subject.Kind)), Status: acp.Ptr(acp.ToolCallStatusPending)}
	if p.Subject.Command != "" {
		call.RawInput = map[string]any{"command": p.Subject.Command,
			"cwd": cmp.Or(content.PathOf(p.Subject.Cwd), p.Subject.Cwd)}
	}
	for _, uri := range p.Subject.URIs {
		if path := content.PathOf(uri); path != "" {
			call.Locations = append(call.Locations, acp.ToolCallLocation{Path: path})
		}
	}
	for _, text := range []string{clip.Bytes(p.Reason, content.MaxRaw), shownPreview(p), lasting} {
		if text != "" {
			call.Content = append(call.Content, acp.ToolContent(acp.TextBlock(text)))
		}
	}
	r := acp.RequestPermissionRequest{SessionId: acp.SessionId(p.SessionID), ToolCall: call,
		Options: []acp.PermissionOption{}}
	for _, o := range p.Options {
		r.Options = append(r.Options, acp.PermissionOption{
			OptionId: acp.PermissionOptionId(o.OptionID), Name: o.Name, Kind: optionKind(o.Kind),
		})
	}
	got, err := a.choose(ctx, r)
	if err != nil || got.selected() == "" {
		return policy.Reply{Cancelled: true}
	}
	feedback := clip.Bytes(got.Meta.AgentLsp.Feedback, content.MaxRaw)
	return policy.Reply{OptionID: got.selected(), Feedback: feedback}
}

// shownPreview returns the full preview of a question. A plan is shown as Markdown. A folder's
// settings are shown as plain text, because rendered Markdown could hide a part of them.
func shownPreview(p wire.RequestPermissionParams) string {
	if p.Preview == "" || len(p.Subject.URIs) == 0 {
		return p.Preview
	}
	fence := "```"
	for strings.Contains(p.Preview, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(p.Preview, "\n") + "\n" + fence
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

// optionKind maps an option's kind to ACP's kinds. The option's name shows how long the choice
// is valid.
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

// elicitation is the client's response to elicitation/create.
type elicitation struct {
	Action  string `json:"action"`
	Content struct {
		Answer json.RawMessage `json:"answer"`
	} `json:"content"`
}

// ask asks the user the model's question. It uses a form if the client supports forms, and
// otherwise shows the options as permissions. Without forms, a question without options cannot be
// asked.
func (a *adapter) ask(ctx context.Context, p wire.AskParams) (host.Answer, error) {
	if e := a.client.Elicitation; e != nil && e.Form != nil {
		return a.askForm(ctx, p)
	}
	if len(p.Options) == 0 {
		return host.Answer{}, host.ErrUnsupported
	}
	return a.askEach(ctx, p)
}

// askEach asks about each offered answer as a separate permission until one is allowed. For a
// multiple-choice question, it returns all answers that are allowed. If one permission contained
// all options, they would all have the same kind. A client with one button per kind would then
// choose for the user.
func (a *adapter) askEach(ctx context.Context, p wire.AskParams) (host.Answer, error) {
	id := p.RequestID
	if s, err := a.session(p.SessionID); err == nil {
		id = cmp.Or(s.runningCall("ask_user"), id)
	}
	var chosen []string
	for i, o := range p.Options {
		got, err := a.choose(ctx, acp.RequestPermissionRequest{
			SessionId: acp.SessionId(p.SessionID),
			ToolCall: acp.ToolCallUpdate{ToolCallId: acp.ToolCallId(id),
				Kind: acp.Ptr(acp.ToolKindOther), Status: acp.Ptr(acp.ToolCallStatusPending),
				Title: acp.Ptr(fmt.Sprintf("%s %d of %d: %s", p.Question, i+1, len(p.Options),
					described(o)))},
			Options: []acp.PermissionOption{
				{OptionId: "yes", Name: o.Label, Kind: acp.PermissionOptionKindAllowOnce},
				{OptionId: "no", Name: "Not this", Kind: acp.PermissionOptionKindRejectOnce}}})
		if err != nil || got.selected() == "" {
			return host.Answer{Declined: true}, nil
		}
		if got.selected() == "yes" {
			chosen = append(chosen, o.Label)
			if !p.Multi {
				break
			}
		}
	}
	return host.Answer{Text: strings.Join(chosen, ", "), Declined: len(chosen) == 0}, nil
}

// runningCall returns the running call of a tool, or "" unless there is exactly one.
func (s *session) runningCall(tool string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := ""
	for id, it := range s.items {
		if it.tool.Name != tool || it.tool.Status != "running" {
			continue
		}
		if found != "" {
			return ""
		}
		found = id
	}
	return found
}

func described(o wire.AskOption) string {
	if o.Description == "" {
		return o.Label
	}
	return o.Label + ": " + o.Description
}

func (a *adapter) askForm(ctx context.Context, p wire.AskParams) (host.Answer, error) {
	params := map[string]any{"sessionId": p.SessionID, "mode": "form", "message": p.Question,
		"requestedSchema": map[string]any{
			"type": "object", "properties": map[string]any{"answer": answerSchema(p)},
			"required": []string{"answer"}}}
	var res elicitation
	if err := a.call(ctx, acp.ClientMethodElicitationCreate, params, &res); err != nil ||
		res.Action != "accept" {
		return host.Answer{Declined: true}, nil
	}
	var list []string
	if json.Unmarshal(res.Content.Answer, &list) == nil && len(list) > 0 {
		return host.Answer{Text: clip.Bytes(strings.Join(list, ", "), content.MaxRaw)}, nil
	}
	var text string
	// If an accepted form contains no answer, text stays empty.
	_ = json.Unmarshal(res.Content.Answer, &text)
	return host.Answer{Text: clip.Bytes(text, content.MaxRaw)}, nil
}

// answerSchema returns the schema of a text field or of a choice of options.
func answerSchema(p wire.AskParams) map[string]any {
	if len(p.Options) == 0 {
		return map[string]any{"type": "string", "title": "Answer"}
	}
	choices := make([]any, 0, len(p.Options))
	for _, o := range p.Options {
		choices = append(choices, map[string]any{"const": o.Label, "title": described(o)})
	}
	if p.Multi {
		return map[string]any{"type": "array", "title": "Answer",
			"items": map[string]any{"anyOf": choices}}
	}
	return map[string]any{"type": "string", "title": "Answer", "oneOf": choices}
}
