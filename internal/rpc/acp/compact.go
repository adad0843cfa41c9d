package acp

import (
	"context"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// compactCommand is the slash command that compacts the conversation. ACP has no method for this.
const compactCommand = "compact"

// commands returns the session's slash commands. A user's command overrides a built-in command of
// the same name.
func (s *session) commands(ctx context.Context) ([]wire.SlashCommand, error) {
	r, err := ask(ctx, s.core, agentapi.Catalog.Commands, wire.Empty{})
	if err != nil {
		return nil, err
	}
	for _, c := range r.Commands {
		if c.Name == compactCommand {
			return r.Commands, nil
		}
	}
	return append(r.Commands, wire.SlashCommand{Name: compactCommand,
		Description: "Compact the conversation", Hint: "what to keep",
		Source: "builtin"}), nil
}

// asksToCompact reports whether a prompt is the built-in compact command. It also returns the
// command's instructions.
func (s *session) asksToCompact(ctx context.Context,
	prompt wire.Prompt) (instructions string, ok bool) {
	if len(prompt) != 1 || prompt[0].Type != "text" {
		return "", false
	}
	name, instructions, _ := strings.Cut(strings.TrimSpace(prompt[0].Text), " ")
	if name != "/"+compactCommand {
		return "", false
	}
	all, err := s.commands(ctx)
	if err != nil {
		return "", false
	}
	for _, c := range all {
		if c.Name == compactCommand && c.Source == "builtin" {
			return strings.TrimSpace(instructions), true
		}
	}
	return "", false
}

// compacted describes the result of a compaction to the user.
func compacted(e *wire.Compaction) string {
	if e.TokensAfter < e.TokensBefore {
		return fmt.Sprintf("The context was reduced from %d to %d tokens.", e.TokensBefore,
			e.TokensAfter)
	}
	return fmt.Sprintf("The context was summarized, but it is not smaller: %d tokens before, %d after.", e.TokensBefore, e.TokensAfter)
}

// compact answers the prompt once the conversation has been compacted, and reports the result.
func (s *session) compact(ctx context.Context, turn *prompting, instructions string) (any, error) {
	params := wire.CompactParams{SessionID: s.id, Instructions: instructions}
	r, err := ask(ctx, s.core, agentapi.Turns.Compact, params)
	switch {
	case turn.wasCancelled():
		return promptResult(acp.StopReasonCancelled, nil), nil
	case err != nil:
		return nil, err
	}
	s.update(acp.UpdateAgentMessageText(agentapi.Compacted(r)))
	return promptResult(acp.StopReasonEndTurn, nil), nil
}
