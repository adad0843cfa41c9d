package rpc

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// asksToCompact says whether a plain client's prompt is /compact, and with which instructions: there is no command for
// it, and with every other client it is typed. One of the user's own that bears the name goes before it.
func (s *server) asksToCompact(ctx context.Context, text string) (instructions string, ok bool) {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != "/compact" {
		return "", false
	}
	if s.core.Expand != nil {
		if _, own := s.core.Expand(ctx, s.sessions.currentID(), text); own {
			return "", false
		}
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), words[0])), true
}

// compactCommand answers when the conversation is shorter, and says what that brought.
func (s *server) compactCommand(ctx context.Context, instructions string) (any, error) {
	id := s.sessions.currentID()
	if id == "" {
		return nil, noSession("/compact")
	}
	r, err := s.compact(ctx, &wire.CompactParams{SessionID: id, Instructions: instructions})
	if err != nil {
		return nil, err
	}
	s.peer.Message(messageInfo, Compacted(r))
	return r, nil
}

// Compacted says in a sentence what making a conversation shorter has brought.
func Compacted(r wire.CompactResult) string {
	if r.TokensAfter >= r.TokensBefore {
		return fmt.Sprintf("There is nothing to shorten: the conversation has %d tokens.", r.TokensBefore)
	}
	return fmt.Sprintf("The conversation now has %d tokens instead of %d.", r.TokensAfter, r.TokensBefore)
}
