package tools

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// The possible answers to the question that is asked before a command that would not see unsaved
// changes.
const (
	savedLabel   = "Run it, I have saved the files"
	unsavedLabel = "Run with the saved text"
	noRunLabel   = "Do not run"
)

// errNotSaved is reported to the model.
var errNotSaved = errors.New("the command was not run because it would not see the user's unsaved changes, and the user did not want that")

var errSteered = errors.New("the command was not run because the user sent a message, which follows, instead of saving")

// SaveQuestions ensures that documents are saved before a command runs on the files on disk. It
// remembers which documents the user left unsaved, so that a turn asks once about each document.
// All exported fields must be set. SaveQuestions is safe for concurrent use.
type SaveQuestions struct {
	// Save asks the editor to save documents and returns those that the editor could not save.
	// offered is false if the editor saves nothing on request.
	Save func(ctx context.Context, uris []string) (failed []string, offered bool, err error)
	// Ask asks the user a question.
	Ask func(ctx context.Context, call *tool.Call, q Question) (Answer, error)
	// Owner returns the user's session and turn to which a sub-agent belongs.
	Owner     func(session, turn string) (string, string)
	Workspace *workspace.Workspace

	mu   sync.Mutex
	left map[string]turnLeft // by session
}

type turnLeft struct {
	turn string
	uris []string
}

// known reports whether the user has already left all of these documents unsaved in this turn.
func (s *SaveQuestions) known(session, turn string, uris []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.left[session]
	return l.turn == turn && !slices.ContainsFunc(uris,
		func(u string) bool { return !slices.Contains(l.uris, u) })
}

func (s *SaveQuestions) leave(session, turn string, uris []string) {
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

// SaveDirty implements Deps.SaveDirty. The editor saves the documents, or the user is asked to save
// them. SaveDirty returns the documents that are still unsaved.
func (s *SaveQuestions) SaveDirty(
	ctx context.Context,
	call *tool.Call,
	uris []string,
) (unsaved []string, err error) {
	switch failed, offered, err := s.Save(ctx, uris); {
	case offered && err != nil:
		return uris, nil
	case offered:
		return failed, nil
	}
	session, turn := s.Owner(call.SessionID, call.TurnID)
	if s.known(session, turn, uris) {
		return uris, nil
	}
	wait, cancel := call.WaitContext(ctx)
	defer cancel()
	answer, err := s.Ask(wait, call, saveQuestion(call, uris))
	var steer *tool.SteerError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(context.Cause(wait), &steer):
		return nil, errSteered
	case err == nil && answer.Text == noRunLabel:
		return nil, errNotSaved
	case err == nil && answer.Text == savedLabel:
		return s.stillUnsaved(uris), nil
	}
	s.leave(session, turn, uris)
	return uris, nil
}

// maxShownCommand limits the length of the command in the question, in bytes.
const maxShownCommand = 200

func saveQuestion(call *tool.Call, uris []string) Question {
	names := make([]string, len(uris))
	for i, u := range uris {
		names[i] = path.Base(u)
	}
	words := strings.Fields(call.Text("command"))
	command := clip.Bytes(strings.Join(words, " "), maxShownCommand)
	return Question{
		Text: "Not saved: " + strings.Join(names, ", ") +
			". The agent's command would not see these changes: " + command,
		Options: []Option{
			{Label: savedLabel}, {Label: unsavedLabel}, {Label: noRunLabel},
		},
	}
}

// stillUnsaved returns the documents that differ from the files on disk.
func (s *SaveQuestions) stillUnsaved(uris []string) (out []string) {
	for _, doc := range s.Workspace.Documents() {
		if doc.Dirty && slices.Contains(uris, doc.Ref.URI) {
			out = append(out, doc.Ref.URI)
		}
	}
	return out
}
