package agent

import "errors"

// Errors of a session's control methods. rpc turns them into wire codes.
var (
	// ErrTurnMismatch: the turn that was named is not the one that runs.
	ErrTurnMismatch = errors.New("that turn is not running")
	// ErrNotIdle: a turn is running; wait for its end or abort it.
	ErrNotIdle = errors.New("a turn is running: wait for its end or abort it")
	// ErrPaused: the session is paused; resume it first.
	ErrPaused = errors.New("the session is paused: resume it first")
	// ErrOverloaded: the queue is full; try again when it is shorter.
	ErrOverloaded = errors.New("the session's queue is full: try again later")
	// ErrNotFound: no such message, turn or queue entry.
	ErrNotFound = errors.New("no such message or turn in this session")
	// ErrNoProvider: the environment has no model to call.
	ErrNoProvider = errors.New("no model provider is configured")
	// ErrNothingToDo: there is nothing to continue or to send.
	ErrNothingToDo = errors.New("nothing to continue: the last turn is answered and nothing is queued")
	// ErrEmptyPrompt: a message without content.
	ErrEmptyPrompt = errors.New("the prompt is empty")
	// ErrNotPinnable: what was named to be pinned or unpinned is no message that could be.
	ErrNotPinnable = errors.New("only a user message of this session's history can be pinned or unpinned")
	// ErrClosed: the session was closed.
	ErrClosed = errors.New("the session is closed")
	// ErrAborted is the cause of the context of a turn that was aborted.
	ErrAborted = errors.New("aborted by the user")
)

// closing is the cause of the context of a turn that ends because the session is closed.
type closing struct{ error }

// Restarts lets packages that do not know this one tell the end of the daemon from the user's
// abort: what waits for a decision may wait on.
func (closing) Restarts() bool { return true }
