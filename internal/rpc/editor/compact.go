package editor

import (
	"context"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// asksToCompact says whether a plain client's prompt is /compact, and with which instructions:
// there is no command for it, and with every other client it is typed. One of the user's own that
// bears the name goes before it.
func (s *Features) asksToCompact(ctx context.Context, text string) (instructions string, ok bool) {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != "/compact" {
		return "", false
	}
	if s.api.Core().Expand != nil {
		if _, own := s.api.Core().Expand(ctx, s.api.Current(), text); own {
			return "", false
		}
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), words[0])), true
}

// compactCommand answers when the conversation is shorter, and says what that brought.
func (s *Features) compactCommand(ctx context.Context, instructions string) (any, error) {
	id := s.api.Current()
	if id == "" {
		return nil, noSession("/compact")
	}
	r, err := agentapi.Turns{
		API: s.api,
	}.Compact(
		ctx,
		&wire.CompactParams{SessionID: id, Instructions: instructions},
	)
	if err != nil {
		return nil, err
	}
	s.link.Message(conn.MessageInfo, agentapi.Compacted(r))
	return r, nil
}
