package hooks

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// The types for the points in a session's lifecycle. sessionStart and sessionEnd handle the user's
// sessions, or those of sub-agents if child is set.
type (
	sessionStart struct {
		*command
		child bool
	}
	sessionEnd struct {
		*command
		child bool
	}
	beforePrompt     struct{ *command }
	beforeCompact    struct{ *command }
	afterCompact     struct{ *command }
	beforePermission struct{ *command }
)

var (
	_ agent.SessionHook    = sessionStart{}
	_ agent.SessionEndHook = sessionEnd{}
	_ agent.PromptHook     = beforePrompt{}
	_ agent.CompactHook    = beforeCompact{}
	_ agent.CompactEndHook = afterCompact{}
	_ PermissionHook       = beforePermission{}
)

func (h sessionStart) SessionStarts(ctx context.Context, in agent.SessionInfo) (string, error) {
	if h.child != (in.Parent != "") {
		return "", nil
	}
	o, err := h.run(ctx, Input{Restored: in.Restored})
	if err != nil {
		return "", err
	}
	return o.Context, nil
}

func (h sessionEnd) SessionEnds(ctx context.Context, in agent.SessionInfo) error {
	if h.child != (in.Parent != "") {
		return nil
	}
	_, err := h.run(ctx, Input{})
	return err
}

func (h beforePrompt) BeforePrompt(ctx context.Context, turnID string,
	m *message.Message) (string, error) {
	o, err := h.run(ctx, Input{TurnID: turnID, Prompt: m.TextContent()})
	if err != nil {
		return "", err
	}
	return o.Context, errDenied(o)
}

func (h beforeCompact) BeforeCompact(ctx context.Context, c agent.CompactInfo) (string, error) {
	o, err := h.run(ctx, Input{TurnID: c.TurnID, Tokens: c.Tokens, Window: c.Window, Must: c.Must})
	if err != nil {
		return "", err
	}
	return o.Instructions, errDenied(o)
}

func (h afterCompact) AfterCompact(ctx context.Context, c agent.Compacted) error {
	_, err := h.run(ctx, Input{TurnID: c.TurnID, Strategy: c.Strategy, TokensBefore: c.TokensBefore,
		TokensAfter: c.TokensAfter})
	return err
}

// Permission is a question that the daemon is about to ask the user.
type Permission struct {
	SessionID, TurnID, Cwd string
	Title, Reason          string
	Subject                tool.Subject
}

// PermissionHook may answer a permission question before the user is asked. The answer is "allow"
// or "deny". "" means that the user is asked.
type PermissionHook interface {
	agent.Hook
	BeforePermission(ctx context.Context, p Permission) (decision, reason string, err error)
}

func (h beforePermission) BeforePermission(ctx context.Context,
	p Permission) (decision, reason string, err error) {
	if p.Subject.Name != "" && !h.matches(p.Subject.Name) {
		return "", "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.HookTimeout())
	defer cancel()
	o, err := h.run(ctx, Input{
		SessionID: p.SessionID, TurnID: p.TurnID, Cwd: p.Cwd, Title: p.Title, Reason: p.Reason,
		Kind: string(p.Subject.Kind), Command: p.Subject.Command, Paths: p.Subject.Paths,
		Tool: p.Subject.Name,
	})
	if err != nil {
		return "", "", err
	}
	if o.Decision == "allow" {
		return "allow", "", nil
	}
	if why := o.denied(); why != "" {
		return "deny", why, nil
	}
	return "", "", nil
}
