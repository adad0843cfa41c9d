package editor

import (
	"context"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// asksToCompact reports whether a prompt of a plain client is /compact, and returns its
// instructions. There is no LSP command for compacting, because users know /compact from other
// clients. A command of the user with the same name takes precedence.
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

// compactCommand answers when the conversation has been compacted. It reports the result.
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
