package main

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/tools"
)

// The answers to the question before a command that would not see what is unsaved.
const (
	savedLabel   = "Run, I have saved"
	unsavedLabel = "Run on the saved text"
	noRunLabel   = "Do not run"
)

// errNotSaved is for the model.
var errNotSaved = errors.New("the command was not run: the user has unsaved changes that it would not see, and did not want it to run without them")

var errSteered = errors.New("the command was not run: instead of saving, the user sent a message, which follows")

// saveQuestions remembers which documents a turn was told to leave unsaved: each is asked about once.
type saveQuestions struct {
	mu   sync.Mutex
	left map[string]turnLeft // by session
}

type turnLeft struct {
	turn string
	uris []string
}

// known reports whether the turn's user has answered for all of the documents.
func (s *saveQuestions) known(session, turn string, uris []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.left[session]
	return l.turn == turn && !slices.ContainsFunc(uris, func(u string) bool { return !slices.Contains(l.uris, u) })
}

func (s *saveQuestions) leave(session, turn string, uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == nil {
		s.left = map[string]turnLeft{}
	}
	l := s.left[session]
	if l.turn != turn {
		l = turnLeft{turn: turn}
	}
	l.uris = append(l.uris, uris...)
	s.left[session] = l
}

// saveDirty sees to it that documents are saved before a command runs on what the disk holds: the
// editor does it, or the user is asked to. What stays unsaved comes back.
func (d *daemon) saveDirty(ctx context.Context, call *agent.Call, uris []string) (unsaved []string, err error) {
	if d.peer.Claims().Editor.Save {
		res, err := d.peer.EditorSave(ctx, uris)
		if err != nil {
			return uris, nil
		}
		return res.Failed, nil
	}
	session, turn := d.ownerOf(call.SessionID, call.TurnID)
	if d.unsaved.known(session, turn, uris) {
		return uris, nil
	}
	wait, cancel := call.WaitContext(ctx)
	defer cancel()
	answer, err := d.ask(wait, call, saveQuestion(call, uris))
	var steer *agent.SteerError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(context.Cause(wait), &steer):
		return nil, errSteered
	case err == nil && answer.Text == noRunLabel:
		return nil, errNotSaved
	case err == nil && answer.Text == savedLabel:
		return d.stillUnsaved(uris), nil
	}
	d.unsaved.leave(session, turn, uris)
	return uris, nil
}

// maxShownCommand bounds the command in the question, bytes.
const maxShownCommand = 200

func saveQuestion(call *agent.Call, uris []string) tools.Question {
	names := make([]string, len(uris))
	for i, u := range uris {
		names[i] = path.Base(u)
	}
	var args struct{ Command string }
	_ = json.Unmarshal(call.Args, &args)
	command := strings.Join(strings.Fields(args.Command), " ")
	if len(command) > maxShownCommand {
		command = strings.ToValidUTF8(command[:maxShownCommand], "") + "…"
	}
	return tools.Question{
		Text: "Not saved: " + strings.Join(names, ", ") + ". The agent's command would not see that: " + command,
		Options: []tools.Option{
			{Label: savedLabel}, {Label: unsavedLabel}, {Label: noRunLabel},
		},
	}
}

// stillUnsaved are those of the documents that differ from the disk.
func (d *daemon) stillUnsaved(uris []string) (out []string) {
	for _, doc := range d.workspace.Documents() {
		if doc.Dirty && slices.Contains(uris, doc.Ref.URI) {
			out = append(out, doc.Ref.URI)
		}
	}
	return out
}
