package tool

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Result is the result of a call. After Prepared.Run has returned, the engine owns it.
type Result struct {
	Text    string          // for the model
	Content []message.Block // images and files for the model, in addition to Text
	Details json.RawMessage // for clients only
	IsError bool            // Text explains what was wrong
	CutOff  bool            // Text already states that the call was interrupted
	Denied  bool            // the user or the policy denied the call; the breaker ignores it
	// Missed is set if the call ended without the desired outcome, for example because a command
	// failed or a hunk was rejected.
	Missed   bool
	Meta     Meta
	Activate []string // deferred tools to load, starting with the next model call
	// EndTurn ends the turn with this result, unless a hook vetoes it, a steer is waiting, or
	// IsError is set.
	EndTurn   bool
	Locations []Location
}

// TemporaryError is an error of Prepared.Run after which the same call may succeed a moment later.
// An example is a broken connection. The engine retries only read-only calls, because a failed
// attempt of another call may have had an effect. All other errors are permanent.
type TemporaryError struct{ Err error }

func (e *TemporaryError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *TemporaryError) Unwrap() error { return e.Err }

// Meta describes the contents of a result for the context reducers. All fields are optional.
type Meta struct {
	Kind string `json:"kind,omitempty"` // file, command, search, list, fetch
	// Key identifies the subject of the call: a canonical path with its range, or a command with
	// its folder.
	Key     string `json:"key,omitempty"`
	SHA256  string `json:"sha256,omitempty"`  // hash of the content shown
	Spill   string `json:"spill,omitempty"`   // file with the whole text
	Changed bool   `json:"changed,omitempty"` // whether the call changed the file that Key names
}

// MetaKey is the key of message.Message.Meta under which the Meta of a result is stored.
const MetaKey = "result"
