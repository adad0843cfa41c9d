package session

import (
	"bytes"
	"encoding/json"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// MaxTitle is the maximum length, in runes, of a title from ShortTitle.
const MaxTitle = 80

// Entry is a session's entry in a list.
type Entry struct {
	Meta
	UpdatedAt time.Time     `json:"updatedAt"`
	Archived  bool          `json:"archived,omitempty"`
	Messages  int           `json:"messages"`
	Usage     message.Usage `json:"usage"`
	LastSeq   uint64        `json:"lastSeq"`
	// OpenTurn is a turn that began and did not end. It is running, or a crash interrupted it.
	OpenTurn string `json:"openTurn,omitempty"`
	Bytes    int64  `json:"bytes"`             // size of the log that the entry describes
	Titled   bool   `json:"titled,omitempty"`  // the title was set, not derived
	Damaged  int    `json:"damaged,omitempty"` // lines that could not be read
	Paused   bool   `json:"paused,omitempty"`

	// Config is the session's own configuration. It is omitted if it exceeds maxEntryConfig bytes.
	Config json.RawMessage `json:"config,omitempty"`
}

// maxEntryConfig is the maximum size, in bytes, of the configuration in a list entry.
const maxEntryConfig = 16 << 10

// Empty reports whether the session has no messages, no title and no damaged lines, and is not a
// fork. An empty session may have a configuration.
func (e *Entry) Empty() bool {
	return e.Messages == 0 && e.Title == "" && e.ForkOf == "" && e.Damaged == 0
}

// node is one stored message: its position in the log and the message that it follows.
type node struct {
	id     string
	off    int64
	n      int32
	parent int32 // -1 for the first node
}

// itemRef is the position of a completed item. node is the message to which it belongs.
type itemRef struct {
	off  int64
	seq  uint64
	n    int32
	node int32
}

// logState describes a log without its contents. It grows by about 120 bytes per message. Reading a
// log and appending to it update logState in the same way.
type logState struct {
	entry Entry
	nodes []node
	items []itemRef
	head  int32 // the node that the next message follows, -1 at the start
	index map[string]int32
}

func newLogState(id string) logState {
	return logState{entry: Entry{Meta: Meta{ID: id}}, head: -1}
}

// find returns the node of a message, or -1.
func (l *logState) find(id string) int32 {
	if id == "" {
		return -1
	}
	if l.index == nil {
		l.index = make(map[string]int32, len(l.nodes)+16)
		for i := range l.nodes {
			l.index[l.nodes[i].id] = int32(i)
		}
	}
	if i, ok := l.index[id]; ok {
		return i
	}
	return -1
}

// apply processes a record of n bytes at offset off.
func (l *logState) apply(r *agent.Record, off int64, n int, title func(string) string) {
	e := &l.entry
	if r.Time.After(e.UpdatedAt) && r.Type != RecordSeq {
		e.UpdatedAt = r.Time
	}
	switch r.Type {
	case agent.RecordMessage:
		l.addMessage(r.Message, off, n, title)
	case agent.RecordTurnStart:
		e.OpenTurn = turnID(r)
	case agent.RecordTurnEnd:
		e.OpenTurn = ""
		if r.Turn != nil {
			e.Usage = e.Usage.Add(r.Turn.Usage)
		}
	case RecordItem:
		l.addItem(r.Data, off, n)
	case RecordHeader:
		l.addHeader(r.Data)
	case RecordSeq:
		var d seqData
		if decode(r.Data, &d) == nil {
			e.LastSeq = d.Reserved
		}
	case RecordTitle:
		var d titleData
		if decode(r.Data, &d) == nil {
			e.Title, e.Titled = d.Title, true
		}
	case RecordArchive:
		var d archiveData
		if decode(r.Data, &d) == nil {
			e.Archived = d.Archived
		}
	case RecordConfig:
		e.Config = nil
		if len(r.Data) <= maxEntryConfig {
			e.Config = bytes.Clone(r.Data)
		}
	case RecordPaused:
		var d pausedData
		if decode(r.Data, &d) == nil {
			e.Paused = d.Paused
		}
	case RecordBranch:
		var d Branch
		if decode(r.Data, &d) == nil {
			l.head, e.Messages = l.find(d.Through), d.Messages
		}
	}
}

func (l *logState) addHeader(data json.RawMessage) {
	var m Meta
	if decode(data, &m) != nil {
		return
	}
	id := l.entry.ID
	l.entry.Meta = m
	if id != "" {
		l.entry.ID = id // a copied log may contain another ID; the file's name is the session's ID
	}
	l.entry.Titled = m.Title != ""
	if l.entry.UpdatedAt.Before(m.CreatedAt) {
		l.entry.UpdatedAt = m.CreatedAt
	}
}

func (l *logState) addMessage(m *message.Message, off int64, n int, title func(string) string) {
	if m == nil {
		return
	}
	l.nodes = append(l.nodes, node{id: m.ID, off: off, n: int32(n), parent: l.head})
	l.head = int32(len(l.nodes) - 1)
	if l.index != nil {
		l.index[m.ID] = l.head
	}
	l.entry.Messages++
	if l.entry.Title == "" && m.Role == message.RoleUser && !m.Hidden && m.App == "" {
		l.entry.Title = title(m.ShownText())
	}
}

func (l *logState) addItem(data json.RawMessage, off int64, n int) {
	var d struct {
		Seq  uint64 `json:"seq"`
		Item struct {
			MessageID string `json:"messageId"`
		} `json:"item"`
	}
	if decode(data, &d) != nil {
		return
	}
	at := l.head
	if d.Item.MessageID != "" && (at < 0 || l.nodes[at].id != d.Item.MessageID) {
		if i := l.find(d.Item.MessageID); i >= 0 {
			at = i
		}
	}
	l.items = append(l.items, itemRef{off: off, n: int32(n), seq: d.Seq, node: at})
	l.entry.LastSeq = max(l.entry.LastSeq, d.Seq)
}

// path returns the nodes of the history up to head, in order.
func (l *logState) path() []int32 {
	n := 0
	for i := l.head; i >= 0; i = l.nodes[i].parent {
		n++
	}
	p := make([]int32, n)
	for i := l.head; i >= 0; i = l.nodes[i].parent {
		n--
		p[n] = i
	}
	return p
}

// visible returns the items of the history up to head, in order, without the items of other
// branches.
func (l *logState) visible() []itemRef {
	on := make([]bool, len(l.nodes))
	for _, i := range l.path() {
		on[i] = true
	}
	refs := make([]itemRef, 0, len(l.items))
	for _, r := range l.items {
		if r.node < 0 || on[r.node] {
			refs = append(refs, r)
		}
	}
	return refs
}

// turnID returns the ID of the turn in a turnStart record, in any of the stored formats, or
// "unknown".
func turnID(r *agent.Record) string {
	if r.Turn != nil {
		return r.Turn.TurnID
	}
	var d turnData
	if len(r.Data) > 0 && decode(r.Data, &d) == nil && d.TurnID != "" {
		return d.TurnID
	}
	return "unknown"
}

// lenient contains the options for decoding files that other versions or programs wrote.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true))

func decode(b []byte, v any) error { return jsonv2.Unmarshal(b, v, lenient) }
