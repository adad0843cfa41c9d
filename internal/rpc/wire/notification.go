package wire

import "encoding/json"

// Stamp is part of every notification about a session. Replay is set for notifications that
// agent/session/load sends again.
type Stamp struct {
	SessionID string `json:"sessionId"`
	Seq       int64  `json:"seq"`
	Replay    bool   `json:"replay,omitzero"`
}

// SessionUpdated reports changes to a session other than those of its turns. Except for Pinned,
// absent fields have not changed.
type SessionUpdated struct {
	Stamp
	Status        string          `json:"status" enum:"idle,running,awaiting,paused"`
	Title         string          `json:"title,omitzero"`
	Usage         *Usage          `json:"usage,omitzero"`
	ContextTokens int             `json:"contextTokens,omitzero"`
	ContextWindow int             `json:"contextWindow,omitzero"`
	Queue         []QueueEntry    `json:"queue,omitzero"`
	Config        json.RawMessage `json:"config,omitzero"`
	Pinned        []string        `json:"pinned,omitzero"` // item IDs; absent means none
}

// TurnStarted reports the start of a turn and the messages with which it begins.
type TurnStarted struct {
	Stamp
	TurnID     string   `json:"turnId"`
	MessageIDs []string `json:"messageIds"`
}

// TurnCompleted reports the end of a turn. No other notification of the turn follows.
type TurnCompleted struct {
	Stamp
	TurnID string `json:"turnId"`
	Turn   Turn   `json:"turn"`
}

// ItemEvent contains the params of item/started, item/updated and item/completed.
type ItemEvent struct {
	Stamp
	TurnID string `json:"turnId"`
	Item   Item   `json:"item"`
}

// Delta is a piece of an open item's text.
type Delta struct {
	Stamp
	TurnID string `json:"turnId"`
	ItemID string `json:"itemId"`
	Kind   string `json:"kind" enum:"text,reasoning,toolInput,toolOutput"`
	Text   string `json:"text"`
}

// RetryScheduled reports that a model call has failed and will be retried after DelayMs.
type RetryScheduled struct {
	Stamp
	TurnID     string     `json:"turnId"`
	Attempt    int        `json:"attempt"`
	MaxRetries int        `json:"maxRetries"`
	DelayMs    int64      `json:"delayMs"`
	Error      RetryError `json:"error"`
}

// RetryError is the reason for retrying a model call.
type RetryError struct {
	Kind    string `json:"kind" enum:"auth,rate_limit,quota,overloaded,context_overflow,content_filter,client,transient,blank,stream_idle,truncated,script"`
	Message string `json:"message"`
}

// Compaction reports that the context was reduced.
type Compaction struct {
	Stamp
	TurnID         string `json:"turnId,omitzero"`
	Strategy       string `json:"strategy"`
	TokensBefore   int    `json:"tokensBefore"`
	TokensAfter    int    `json:"tokensAfter"`
	MessagesBefore int    `json:"messagesBefore"`
	MessagesAfter  int    `json:"messagesAfter"`
}

// ProposalCreated reports a new proposal with its unified diff.
type ProposalCreated struct {
	Stamp
	Proposal Proposal `json:"proposal"`
	Diff     string   `json:"diff"`
}

// ProposalChanged contains the params of proposal/updated and proposal/closed.
type ProposalChanged struct {
	Stamp
	Proposal Proposal `json:"proposal"`
}

// RequestResolved reports that a permission or question no longer needs an answer.
type RequestResolved struct {
	Stamp
	RequestID string `json:"requestId"`
}
