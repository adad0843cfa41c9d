package agent

import "errors"

// Errors of a session's control methods. Package agentapi converts them to wire codes.
var (
	// ErrTurnMismatch reports that the named turn is not the running one.
	ErrTurnMismatch = errors.New("that turn is not running")
	// ErrNotIdle reports that a turn or Compact is running. The caller can wait for its end or
	// abort it.
	ErrNotIdle = errors.New("a turn is running; wait for it to end, or abort it")
	// ErrPaused reports that the session is paused and must be resumed first.
	ErrPaused = errors.New("the session is paused: resume it first")
	// ErrOverloaded reports that the queue is full.
	ErrOverloaded = errors.New("the session's queue is full: try again later")
	// ErrNotFound reports that there is no such message, turn or queue entry.
	ErrNotFound = errors.New("no such message or turn in this session")
	// ErrNoProvider reports that the environment has no model to call.
	ErrNoProvider = errors.New("no model provider is configured")
	// ErrNothingToDo reports that there is nothing to continue or to send.
	ErrNothingToDo = errors.New("there is nothing to continue: the last turn is complete and the queue is empty")
	// ErrEmptyPrompt reports a message without content.
	ErrEmptyPrompt = errors.New("the prompt is empty")
	// ErrNotPinnable reports that the named message cannot be pinned or unpinned.
	ErrNotPinnable = errors.New("only a user message in this session's history can be pinned or unpinned")
	// ErrClosed reports that the session was closed.
	ErrClosed = errors.New("the session is closed")
	// ErrAborted is the cancellation cause of an aborted turn's context.
	ErrAborted = errors.New("aborted by the user")
)

// closing is the cancellation cause for a turn that ends because the session is closed.
type closing struct{ error }

// Restarts lets other packages distinguish the end of the daemon from an abort by the user. When
// the daemon ends, pending decisions are kept.
func (closing) Restarts() bool { return true }
