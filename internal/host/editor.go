package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Editor contains the requests that the daemon can send to a client's editor. Its methods may be
// called from any goroutine once the connection is running. Methods with a context wait for the
// client. Each has its own time limit.
type Editor interface {
	workspace.Client
	// Notice shows a line of text to the user in the client's current session. If there is no
	// current session, the text does not belong to a session. Notice does not block.
	Notice(level, text string)
	// Save saves documents and returns the URIs of those that could not be saved. offered is false
	// if the editor does not save on request.
	Save(ctx context.Context, uris []string) (failed []string, offered bool, err error)
	// Open asks the editor to send its current text of a file and waits until the daemon has read
	// it. Open also returns nil if the editor does not support this or does not answer. A non-nil
	// error means that the client refused access to the file. In that case, the file must not be
	// read from disk either.
	Open(ctx context.Context, uri string) error
	// Query asks the editor's language servers and returns the result of agent/editor/query. The
	// error is ErrUnsupported if the editor cannot answer the query.
	Query(ctx context.Context, q EditorQuery) (json.RawMessage, error)
}

// EditorQuery is a query to the editor's language servers.
type EditorQuery struct {
	Operation string // a name from agent/editor/query, such as diagnostics or definition
	URI       string
	Position  *workspace.Position
	Query     string // for a symbol search
	// Settle makes a diagnostics query wait until the servers have processed the current text.
	Settle *EditorSettle
}

// EditorSettle names the documents whose diagnostics to wait for.
type EditorSettle struct {
	URIs    []string
	Timeout time.Duration // maximum time to wait; 0 means no waiting
}
