package editor

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
)

// This file implements features for clients that do not support agent/*: notices, a message at the
// end of a turn, and a command that answers a question. Such clients also get progress, hints,
// lenses and code actions.

// watchPlain is called with every event when it is delivered. It never blocks.
func (s *Features) watchPlain(sessionID string, e agent.Event) {
	s.progress.watch(sessionID, e)
	switch e := e.(type) {
	case agent.ItemCompleted:
		if e.Item.Type == agent.ItemNotice && e.Item.Level != "info" && s.link.Plain() {
			s.link.Message(conn.MessageType(e.Item.Level), "agent-lsp: "+e.Item.Text)
		}
	case agent.TurnCompleted:
		s.views.changed(sessionID)
	}
}

// tellEnd shows how a turn ended, with one message per turn. It shows nothing for an abort, because
// the user asked for it, and nothing for a turn without an answer.
func (s *Features) tellEnd(t *agent.Turn, answer string) {
	switch {
	case !s.link.Plain() || t.Status == agent.TurnStatusAborted:
	case t.Error != nil:
		s.link.Message(
			conn.MessageError,
			fmt.Sprintf("agent-lsp: the turn failed: %s", firstLine(t.Error.Message, maxToast)),
		)
	case answer != "":
		s.link.Message(conn.MessageInfo, "Agent: "+answer)
	}
}

const (
	// maxToast limits the characters of a message that an editor may show on one line.
	maxToast = 120
)

// firstLine returns the first line of text, shortened to atMost characters. An ellipsis follows if
// any text is missing.
func firstLine(text string, atMost int) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > atMost {
		return string(r[:atMost]) + "…"
	}
	if strings.TrimSpace(rest) != "" {
		line += " …"
	}
	return line
}

// answerCommand answers an open question of window/showMessageRequest with a command, for editors
// that do not show such questions.
func (s *Features) answerCommand(_ context.Context, args commandArgs) (any, error) {
	return nil, s.peer.answerMessage(args.RequestID, args.Text)
}
