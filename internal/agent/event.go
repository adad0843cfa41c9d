package agent

import (
	"encoding/json"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Sink receives a session's events, in order, from one goroutine at a time. Emit must not block and
// must not call back into the session.
type Sink interface {
	Emit(sessionID string, e Event)
}

// SinkFunc is a function that implements Sink.
type SinkFunc func(sessionID string, e Event)

// Emit calls f.
func (f SinkFunc) Emit(sessionID string, e Event) { f(sessionID, e) }

// Event is an event of a session. The types below are the only events. Their order within a turn
// is:
//
//	TurnStarted
//	  ItemStarted (ItemUpdated | Delta)* ItemCompleted     items interleave
//	  Retrying, Compacted                                  anywhere between
//	TurnCompleted                                          the last event of the turn
//	StateChanged                                           unless another turn follows
type Event = tool.SessionEvent

// The events.
type (
	// TurnStarted reports the start of a turn. MessageIDs are the messages with which it begins.
	TurnStarted struct {
		TurnID     string
		MessageIDs []string
	}
	// TurnCompleted reports the end of a turn.
	TurnCompleted struct{ Turn Turn }
	// ItemStarted reports a new item. Like ItemUpdated and ItemCompleted, it contains a copy of the
	// item's current state.
	ItemStarted struct {
		TurnID string
		Item   Item
	}
	// ItemUpdated reports a change to an item that is not completed.
	ItemUpdated struct {
		TurnID string
		Item   Item
	}
	// ItemCompleted reports the item's final state.
	ItemCompleted struct {
		TurnID string
		Item   Item
	}
	// ItemDelta is a piece of an open item's text, input or output.
	ItemDelta struct {
		TurnID string
		ItemID string
		Kind   DeltaKind
		Text   string
	}
	// Retrying reports that a model call has failed and will be retried after Delay.
	Retrying struct {
		TurnID     string
		Attempt    int
		MaxRetries int
		Delay      time.Duration
		Kind       string
		Message    string
	}
	// Compacted reports that the context was reduced.
	Compacted struct {
		TurnID                        string
		Strategy                      string
		TokensBefore, TokensAfter     int
		MessagesBefore, MessagesAfter int
	}
	// StateChanged reports a change to the session's state.
	StateChanged struct{ State State }
)

// SessionEvent marks an event.
func (TurnStarted) SessionEvent() {}

// SessionEvent marks an event.
func (TurnCompleted) SessionEvent() {}

// SessionEvent marks an event.
func (ItemStarted) SessionEvent() {}

// SessionEvent marks an event.
func (ItemUpdated) SessionEvent() {}

// SessionEvent marks an event.
func (ItemCompleted) SessionEvent() {}

// SessionEvent marks an event.
func (ItemDelta) SessionEvent() {}

// SessionEvent marks an event.
func (Retrying) SessionEvent() {}

// SessionEvent marks an event.
func (Compacted) SessionEvent() {}

// SessionEvent marks an event.
func (StateChanged) SessionEvent() {}

// Status is a session's activity as clients see it.
type Status string

// The statuses of a session.
const (
	SessionIdle     Status = "idle"
	SessionRunning  Status = "running"
	SessionAwaiting Status = "awaiting" // a call waits for the user
	SessionPaused   Status = "paused"
)

// State is a snapshot of a session without its items.
type State struct {
	Status        Status
	TurnID        string // ID of the running turn
	Title         string
	Usage         message.Usage
	ContextTokens int
	ContextWindow int
	Queue         []QueueEntry
	Messages      int
	Pinned        []string // IDs of the pinned messages, oldest first
}

// QueueEntry is a message that is waiting to be delivered.
type QueueEntry struct {
	MessageID string          `json:"messageId"`
	Delivery  Delivery        `json:"delivery"`
	Content   []message.Block `json:"content"`
	Source    message.Source  `json:"source,omitempty"`

	Hidden bool `json:"hidden,omitempty"`
	Wake   bool `json:"wake,omitempty"` // a note that may start a turn
	// Held is set if the message arrived while the session was paused. Resume delivers it.
	Held   bool                       `json:"held,omitempty"`
	Author string                     `json:"author,omitempty"`
	Meta   map[string]json.RawMessage `json:"meta,omitempty"`
}

// Delivery determines how a message is delivered.
type Delivery string

// The deliveries. A prompt uses auto or queue. A queue entry is a steer, a follow-up or a note
// (which Queue does not show).
const (
	DeliverAuto     Delivery = "auto"
	DeliverQueue    Delivery = "queue"
	DeliverSteer    Delivery = "steer"
	DeliverFollowUp Delivery = "followUp"
	DeliverNote     Delivery = "note"
)

// Turn is a turn's summary (protocol 9.3, in docs/reference/protocol/types.md).
type Turn struct {
	TurnID     string        `json:"turnId"`
	Status     string        `json:"status"` // completed, aborted, failed, running
	EndReason  EndReason     `json:"endReason,omitempty"`
	AbortPhase string        `json:"abortPhase,omitempty"` // inference, tool_execution
	ModelCalls int           `json:"modelCalls"`
	ToolCalls  int           `json:"toolCalls"`
	ToolErrors int           `json:"toolErrors"`
	Usage      message.Usage `json:"usage"`
	Error      *TurnError    `json:"error,omitempty"`
}

// The statuses of a turn.
const (
	TurnStatusRunning   = "running"
	TurnStatusCompleted = "completed"
	TurnStatusAborted   = "aborted"
	TurnStatusFailed    = "failed"
)

// EndReason is the reason why a turn ended.
type EndReason string

// The end reasons.
const (
	EndStop          EndReason = "stop"
	EndMaxModelCalls EndReason = "max_model_calls"
	EndBudget        EndReason = "budget"
	EndAborted       EndReason = "aborted"
	EndError         EndReason = "error"
	EndLength        EndReason = "length"
	EndContentFilter EndReason = "content_filter"
)

// TurnError is the reason why a turn failed. Kind is a retry.Kind.
type TurnError struct {
	Kind      string `json:"kind"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// Store stores a session. Append returns when the records have been handed to the operating system
// in order, so that a crash of the process loses none of them. The engine calls Append before it
// acts on the recorded changes. A Store is safe for concurrent use.
type Store interface {
	Append(records ...Record) error
}

// SyncStore is a Store that syncs records with Sync set to disk in the background, so that a crash
// of the machine loses none of them. Sync returns when all previously appended records are synced.
// The engine calls it before it runs a tool that may have an effect, and before it accepts a
// message.
type SyncStore interface {
	Store
	Sync() error
}

// Record is one line of a session's log. Type determines which one of Message, Queue, Turn, Commit,
// Pin and Data is used.
type Record struct {
	Type    RecordType       `json:"type"`
	Message *message.Message `json:"message,omitempty"`
	Queue   []QueueEntry     `json:"queue,omitempty"`
	Turn    *Turn            `json:"turn,omitempty"`
	Commit  *Commit          `json:"commit,omitempty"`
	Pin     *PinChange       `json:"pin,omitempty"`
	// Data is used by RecordToolStart and by the types that do not belong to the engine.
	Data json.RawMessage `json:"data,omitempty"`
	Time time.Time       `json:"time"`
	Sync bool            `json:"-"` // see SyncStore
}

// RecordType names a kind of record.
type RecordType string

// The record types of the engine. Package session adds those of the store, such as
// session.RecordItem.
const (
	RecordMessage   RecordType = "message"
	RecordQueue     RecordType = "queue" // the complete current queue
	RecordTurnStart RecordType = "turnStart"
	RecordTurnEnd   RecordType = "turnEnd"
	// The Data of RecordToolStart is {"callId":…,"itemId":…}. A call without a result after this
	// record was running.
	RecordToolStart  RecordType = "toolStart"
	RecordCompaction RecordType = "compaction"
	RecordPin        RecordType = "pin"
)

// Commit is a committed compaction: from then on, the model sees Replacement instead of the
// messages up to and including Through. The messages themselves stay in the log.
type Commit struct {
	Through     string             `json:"through"` // message ID
	Replacement []*message.Message `json:"replacement"`
	Strategy    string             `json:"strategy"`
}
