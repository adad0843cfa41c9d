package wire

import (
	"encoding/json"
	"time"
)

// SessionNewParams creates a session. Cwd is a URI or an absolute path inside a root. Messages is
// the initial history. Config is a partial Config that is merged over the settings.
type SessionNewParams struct {
	Cwd      string          `json:"cwd,omitzero"`
	Title    string          `json:"title,omitzero"`
	Origin   string          `json:"origin,omitzero" enum:"run"`
	Config   json.RawMessage `json:"config,omitzero"`
	Messages []SeedMessage   `json:"messages,omitzero"`
}

// SeedMessage is a message of a history that the client provides.
type SeedMessage struct {
	Role    string `json:"role" enum:"user,assistant,system"`
	Content Prompt `json:"content"`
}

// SessionNewResult names the new session. Config is the effective configuration.
type SessionNewResult struct {
	SessionID string          `json:"sessionId"`
	Config    json.RawMessage `json:"config"`
}

// SessionListParams lists stored sessions, most recently updated first. Query searches titles and
// messages.
type SessionListParams struct {
	Cursor   string `json:"cursor,omitzero"`
	Limit    int    `json:"limit,omitzero"`
	Query    string `json:"query,omitzero"`
	Archived bool   `json:"archived,omitzero"`
}

// SessionListResult is one page. NextCursor is absent on the last page.
type SessionListResult struct {
	Sessions   []Session `json:"sessions"`
	NextCursor string    `json:"nextCursor,omitzero"`
}

// Session is a stored session in the form that clients show.
type Session struct {
	SessionID     string          `json:"sessionId"`
	Title         string          `json:"title"`
	Cwd           string          `json:"cwd"`
	CreatedAt     time.Time       `json:"createdAt"`
	UpdatedAt     time.Time       `json:"updatedAt"`
	Status        string          `json:"status" enum:"idle,running,awaiting,paused"`
	Messages      int             `json:"messages"`
	Usage         Usage           `json:"usage"`
	ContextTokens int             `json:"contextTokens,omitzero"`
	ContextWindow int             `json:"contextWindow,omitzero"`
	Queue         []QueueEntry    `json:"queue"`
	Config        json.RawMessage `json:"config"`
	Archived      bool            `json:"archived,omitzero"`
	// "run" if agent-lsp run created the session.
	Origin string `json:"origin,omitzero"`
	// Pinned contains item IDs. It is sent only for a loaded session.
	Pinned []string `json:"pinned,omitzero"`
}

// SessionLoadParams attaches to a stored session. With Replay, past events after SinceSeq are sent
// again before the response.
type SessionLoadParams struct {
	SessionID string `json:"sessionId"`
	SinceSeq  int64  `json:"sinceSeq,omitzero"`
	Replay    bool   `json:"replay,omitzero"`
}

// SessionLoadResult contains the session and the last used seq. Live notifications continue after
// that number.
type SessionLoadResult struct {
	Session Session `json:"session"`
	LastSeq int64   `json:"lastSeq"`
}

// SessionUpdateParams changes a session's title, archives it, or pins and unpins user messages by
// item ID.
type SessionUpdateParams struct {
	SessionID string   `json:"sessionId"`
	Title     *string  `json:"title,omitzero"`
	Archived  *bool    `json:"archived,omitzero"`
	Pin       []string `json:"pin,omitzero"`
	Unpin     []string `json:"unpin,omitzero"`
}

// SessionUpdateResult is the session after the change.
type SessionUpdateResult struct {
	Session Session `json:"session"`
}

// SessionConfigureParams merges Config over the session's own configuration.
type SessionConfigureParams struct {
	SessionID string          `json:"sessionId"`
	Config    json.RawMessage `json:"config"`
}

// SessionConfigureResult is the effective configuration.
type SessionConfigureResult struct {
	Config json.RawMessage `json:"config"`
}

// SessionForkParams copies a session up to an item. The default is the last committed item.
type SessionForkParams struct {
	SessionID string `json:"sessionId"`
	AtItemID  string `json:"atItemId,omitzero"`
}

// SessionParams only names a session.
type SessionParams struct {
	SessionID string `json:"sessionId"`
}

// SessionResult names a session that was created.
type SessionResult struct {
	SessionID string `json:"sessionId"`
}

// SessionExportParams exports a session as json, which can be imported, or as markdown.
type SessionExportParams struct {
	SessionID string `json:"sessionId"`
	Format    string `json:"format,omitzero" enum:"json,markdown"`
}

// SessionExportResult contains the exported text.
type SessionExportResult struct {
	Content string `json:"content"`
}

// SessionImportParams contains an export in the format json.
type SessionImportParams struct {
	Content string `json:"content"`
}

// Empty is a result or params without fields.
type Empty struct{}
