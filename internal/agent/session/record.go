package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// Version is the format of the logs that this package writes.
const Version = 1

// The record types of the store, in addition to those of the engine (agent.RecordMessage …).
const (
	RecordHeader  agent.RecordType = "session"
	RecordItem    agent.RecordType = "item"
	RecordConfig  agent.RecordType = "config" // Data contains the session's own complete Config
	RecordTitle   agent.RecordType = "title"
	RecordArchive agent.RecordType = "archive"
	RecordSeq     agent.RecordType = "seq"
	RecordBranch  agent.RecordType = "branch"
	RecordPaused  agent.RecordType = "paused"
)

// Meta is the content of a session's header.
type Meta struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"`
	Cwd       string    `json:"cwd,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	ForkOf    string    `json:"forkOf,omitempty"` // the session from which it was forked
	Title     string    `json:"title,omitempty"`
	// Origin is the program that created the session, or "" for a user in an editor.
	Origin string `json:"origin,omitempty"`
}

// Item is a completed item with its number in the session's stream of notifications.
type Item struct {
	Seq    uint64
	TurnID string
	Item   agent.Item
}

// Branch reports that the history continues after message Through, or from the start if Through is
// "". Later messages stay in the log, and a later Branch can return to them.
type Branch struct {
	Through  string `json:"through"`
	Messages int    `json:"messages"` // length of the history up to and including Through
}

type (
	titleData struct {
		Title string `json:"title"`
	}
	archiveData struct {
		Archived bool `json:"archived"`
	}
	// seqData reserves numbers. When the record was written, no number above Reserved had been
	// used.
	seqData struct {
		Reserved uint64 `json:"reserved"`
	}
	pausedData struct {
		Paused bool `json:"paused"`
	}
	callData struct {
		CallID string `json:"callId"`
		ItemID string `json:"itemId,omitempty"`
	}
	turnData struct {
		TurnID string `json:"turnId"`
	}
)

// newRecord returns a record of one of the store's own types.
func newRecord(typ agent.RecordType, at time.Time, data any) (agent.Record, error) {
	b, err := marshal(data)
	if err != nil {
		return agent.Record{}, fmt.Errorf("encoding a %s record: %w", typ, err)
	}
	return agent.Record{Type: typ, Data: b, Time: at}, nil
}

// marshal is like json.Marshal, but does not escape <, > and &, which are common in code.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := encode(&b, v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func encode(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// redacted returns line with its secrets removed. line ends in a newline. The result is always one
// line of JSON, even if redact breaks the JSON.
func redacted(line []byte, redact func([]byte) []byte) []byte {
	if redact == nil {
		return line
	}
	out := redact(line)
	if bytes.Equal(out, line) {
		return line
	}
	out = bytes.TrimSuffix(out, []byte("\n"))
	if json.Valid(out) && !bytes.ContainsAny(out, "\r\n") {
		return append(out[:len(out):len(out)], '\n')
	}
	return redactedStrings(line, redact)
}

// redactedStrings redacts each string in a line separately. It is used if redacting the whole line
// does not preserve the JSON.
func redactedStrings(line []byte, redact func([]byte) []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return []byte("{}\n")
	}
	b, err := marshal(mapStrings(v, func(s string) string { return string(redact([]byte(s))) }))
	if err != nil {
		return []byte("{}\n")
	}
	return append(b, '\n')
}

func mapStrings(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = mapStrings(v[i], f)
		}
	case map[string]any:
		for k := range v {
			v[k] = mapStrings(v[k], f)
		}
	}
	return v
}
