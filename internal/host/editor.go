package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Editor is what a client's editor does for the daemon. Its methods may be called from any
// goroutine once the connection is running; those with a context wait for the client, within
// bounds of their own.
type Editor interface {
	workspace.Client
	// Notice shows the user a line: in the client's current session, else outside of any.
	// It does not block.
	Notice(level, text string)
	// Save saves documents and returns the URIs of those that could not be saved. offered is false
	// for an editor that does not save on request.
	Save(ctx context.Context, uris []string) (failed []string, offered bool, err error)
	// Open brings the editor's document of a file up to date; it has been read when this returns.
	// An editor that does not offer that does nothing. The error is not nil only if the client
	// refuses the file: then it must not be read from disk.
	Open(ctx context.Context, uri string) error
	// Query asks the editor's own language servers. The error is ErrUnsupported if it cannot answer
	// that; the answer is the one of agent/editor/query.
	Query(ctx context.Context, q EditorQuery) (json.RawMessage, error)
}

// EditorQuery is a question to the editor's language servers.
type EditorQuery struct {
	Operation string // diagnostics, definition, …: the names of agent/editor/query
	URI       string
	Position  *workspace.Position
	Query     string // of a search for symbols
	// Settle, for diagnostics, waits until the servers have seen the present text.
	Settle *EditorSettle
}

// EditorSettle names documents whose diagnostics are to be waited for.
type EditorSettle struct {
	URIs    []string
	Timeout time.Duration // the answer comes then at the latest; 0: immediately
}
