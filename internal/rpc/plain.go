package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// This file is what a client gets that knows nothing of agent/*, beside progress, hints,
// lenses and code actions: its settings are asked for, and the end of a turn is told.

// settingsSection is the section of an editor's settings that is ours.
const settingsSection = "agentLsp"

// plain says that the client knows nothing of agent/*, not even by having used it.
func (s *server) plain() bool { return !s.client.claimed && !s.notifier.attached.Load() }

// servePlain switches on what a client gets that knows nothing of agent/*.
func (s *server) servePlain() {
	s.detach = append(s.detach, s.api.Host().Watch(s.watchPlain))
	s.hints.enabled, s.hints.refresh = true, s.client.lenses
}

// initialized asks a plain client for its settings, and to be told when they change.
func (s *server) initialized([]byte) error {
	if s.client.claimed || s.core == nil {
		return nil
	}
	if s.client.registers {
		s.goRun("registering", s.register)
	}
	if s.client.configures {
		s.goRun("reading the client's settings", s.pullSettings)
	}
	return nil
}

func (s *server) register() {
	registration := map[string]any{
		"id": "agent-lsp/settings", "method": methodDidConfigure,
		"registerOptions": map[string]any{"section": settingsSection},
	}
	params := map[string]any{"registrations": []any{registration}}
	if err := s.peer.editor(s.ctx, methodRegister, params, nil); err != nil {
		s.log.Info("the client does not register", "method", methodDidConfigure, "error", err)
	}
}

// pullSettings asks the client for its settings and takes them over.
func (s *server) pullSettings() {
	var sections []json.RawMessage
	params := map[string]any{"items": []any{map[string]any{"section": settingsSection}}}
	if err := s.peer.editor(s.ctx, methodConfiguration, params, &sections); err != nil || len(sections) == 0 {
		return
	}
	if objectFrom(sections[0]) != nil {
		s.configured(sections[0])
	}
}

// watchPlain is told of every event when it is delivered. It never blocks.
func (s *server) watchPlain(sessionID string, e agent.Event) {
	s.progress.watch(sessionID, e)
	switch e := e.(type) {
	case agent.ItemCompleted:
		if e.Item.Type == agent.ItemNotice && e.Item.Level != "info" && s.plain() {
			s.peer.Message(messageType(e.Item.Level), "agent-lsp: "+e.Item.Text)
		}
	case agent.TurnCompleted:
		s.views.changed(sessionID)
	}
}

// tellEnd shows how a turn ended: one message a turn. An abort was the user's own.
func (s *server) tellEnd(t *agent.Turn, answer string) {
	switch {
	case !s.plain() || t.Status == agent.TurnStatusAborted:
	case t.Error != nil:
		s.peer.Message(messageError, fmt.Sprintf("agent-lsp: the turn failed: %s", firstLine(t.Error.Message, maxToast)))
	case answer != "":
		s.peer.Message(messageInfo, "Agent: "+answer)
	}
}

const (
	// maxToast bounds the characters of a message that an editor may show in one line.
	maxToast = 120
)

// firstLine is the beginning of a text, of at most so many characters.
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

// answerCommand answers an open question of window/showMessageRequest by a command, for editors
// that do not show such questions.
func (s *server) answerCommand(_ context.Context, args commandArgs) (any, error) {
	return nil, s.peer.answerMessage(args.RequestID, args.Text)
}
