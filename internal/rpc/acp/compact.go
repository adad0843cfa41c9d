package acp

import (
	"context"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// compactCommand shortens the conversation, for which the protocol has no method.
const compactCommand = "compact"

// commands are the session's slash commands. One of the user's own goes before ours of the same
// name.
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
		Description: "Make the conversation shorter for the model", Hint: "what to keep",
		Source: "builtin"}), nil
}

// asksToCompact says whether a prompt is our command, and with which instructions.
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

// compacted says what a compaction brought.
func compacted(e *wire.Compaction) string {
	if e.TokensAfter < e.TokensBefore {
		return fmt.Sprintf("The context was reduced from %d to %d tokens.", e.TokensBefore,
			e.TokensAfter)
	}
	return fmt.Sprintf("The context was summarized, but it is not smaller: %d tokens before, %d after.", e.TokensBefore, e.TokensAfter)
}

// compact answers the prompt when the conversation is shorter, and says what that brought.
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
