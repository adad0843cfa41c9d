package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// This file contains the code actions, which need no plugin.

type codeAction struct {
	Title       string            `json:"title"`
	Kind        string            `json:"kind"`
	Diagnostics []json.RawMessage `json:"diagnostics,omitzero"`
	Command     Command           `json:"command"`
}

// templates are the actions that are offered for a selection.
var templates = []struct{ title, text string }{
	{"Agent: explain this", "Explain this code."},
	{"Agent: refactor this", "Refactor this code without changing what it does."},
	{"Agent: document this", "Document this code."},
	{"Agent: write tests for this", "Write tests for this code."},
}

// CodeActions offers to decide the hunks, follow the AI comments and fix the diagnostics in the
// range. It also offers the templates and, to clients that do not support agent/*, the source
// actions.
func (s *Features) CodeActions(_ context.Context, p *DocumentParams) ([]any, error) {
	s.place.seen(p.TextDocument.URI, p.Range)
	return s.offered(wanted(s.actionsAt(p), p.Context.Only)), nil
}

// offered converts actions to plain commands if the client does not support code action literals.
func (s *Features) offered(actions []codeAction) []any {
	out := make([]any, 0, len(actions))
	for _, a := range actions {
		if s.link.Client.Literals {
			out = append(out, a)
			continue
		}
		a.Command.Title = a.Title
		out = append(out, a.Command)
	}
	return out
}

func (s *Features) actionsAt(p *DocumentParams) []codeAction {
	var actions []codeAction
	for _, h := range s.pendingHunks(p.TextDocument.URI) {
		if !overlap(h.span, p.Range) {
			continue
		}
		actions = append(
			actions,
			codeAction{
				Title:   "Accept the agent's change " + h.stat(),
				Kind:    "quickfix",
				Command: h.command("Accept", "agent.accept"),
			},
			codeAction{
				Title:   "Reject the agent's change " + h.stat(),
				Kind:    "quickfix",
				Command: h.command("Reject", "agent.reject"),
			},
		)
	}
	actions = append(actions, s.commentActions(p)...)
	actions = append(actions, s.fixes(p)...)
	if p.Range.Start != p.Range.End {
		for _, t := range templates {
			actions = append(
				actions,
				codeAction{
					Title:   t.title,
					Kind:    "refactor",
					Command: promptAbout(p, t.title, t.text, p.Range),
				},
			)
		}
	}
	if s.link.Client.Claimed {
		return actions
	}
	return append(actions, s.sourceActions()...)
}

// sourceActions returns actions that do not belong to a position. Users need them in editors that
// cannot run a command by name or do not show questions.
func (s *Features) sourceActions() (out []codeAction) {
	add := func(title, command string, args map[string]any) {
		c := Command{Title: title, Command: command, Arguments: []any{}}
		if args != nil {
			c.Arguments = []any{args}
		}
		out = append(out, codeAction{Title: title, Kind: "source.agent", Command: c})
	}
	for _, a := range s.peer.messages() {
		for _, title := range a.titles {
			add(
				"Agent asks: "+short(a.text)+": "+title,
				"agent.answer",
				map[string]any{"requestId": a.id, "text": title},
			)
		}
	}
	l := s.api.Loaded(s.api.Current())
	if l == nil {
		return out
	}
	if l.Busy() {
		add("Agent: stop", "agent.abort", nil)
	}
	undecided := s.undecided()
	_, pending := firstIn(undecided, workspace.HunkPending)
	_, stale := firstIn(undecided, workspace.HunkStale)
	if pending != "" {
		add("Agent: accept all changes", "agent.acceptAll", nil)
	}
	if pending != "" || stale != "" {
		add("Agent: reject all changes", "agent.rejectAll", nil)
		add("Agent: show the diff", "agent.showDiff", nil)
	}
	if !l.Busy() && s.undoable(l.ID) != "" {
		add("Agent: undo its last changes", "agent.undoLast", nil)
	}
	add("Agent: show the transcript", "agent.showTranscript", nil)
	return out
}

// fixes returns quick fixes for diagnostics from other servers. A diagnostic often quotes the text,
// so the prompt about a secret file does not contain the message.
func (s *Features) fixes(p *DocumentParams) (out []codeAction) {
	secret := s.api.IsSecret(p.TextDocument.URI)
	for _, raw := range p.Context.Diagnostics {
		var d wire.Diagnostic
		if agentapi.DecodeParams(raw, &d) != nil || d.Message == "" ||
			d.Source == diagnosticSource {
			continue
		}
		from, to := workspace.Position(d.Range.Start), workspace.Position(d.Range.End)
		at := workspace.Range{Start: from, End: to}
		text := fmt.Sprintf("Fix this problem on line %d: %s", d.Range.Start.Line+1, d.Message)
		if secret {
			text = fmt.Sprintf("Fix the problem on line %d.", d.Range.Start.Line+1)
		}
		title := "Agent: fix " + short(d.Message)
		out = append(
			out,
			codeAction{
				Title:       title,
				Kind:        "quickfix",
				Diagnostics: []json.RawMessage{raw},
				Command:     promptAbout(p, title, text, at),
			},
		)
	}
	return out
}

func promptAbout(p *DocumentParams, title, text string, at workspace.Range) Command {
	return Command{
		title,
		"agent.prompt",
		[]any{map[string]any{"text": text, "textDocument": p.TextDocument, "range": at}},
	}
}

func short(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if r := []rune(line); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return line
}

// wanted keeps the actions of the requested kinds. A kind includes its sub-kinds.
func wanted(actions []codeAction, only []string) (out []codeAction) {
	if len(only) == 0 {
		return actions
	}
	for _, a := range actions {
		for _, kind := range only {
			if kind == "" || a.Kind == kind || strings.HasPrefix(a.Kind, kind+".") {
				out = append(out, a)
				break
			}
		}
	}
	return out
}
