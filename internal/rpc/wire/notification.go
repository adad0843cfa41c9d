package wire

import "encoding/json"

// Stamp is what every notification about a session carries. Replay marks one that is
// told again by agent/session/load.
type Stamp struct {
	SessionID string `json:"sessionId"`
	Seq       int64  `json:"seq"`
	Replay    bool   `json:"replay,omitzero"`
}

// SessionUpdated tells what changed of a session beside its turns; absent fields did not.
type SessionUpdated struct {
	Stamp
	Status        string          `json:"status" enum:"idle,running,awaiting,paused"`
	Title         string          `json:"title,omitzero"`
	Usage         *Usage          `json:"usage,omitzero"`
	ContextTokens int             `json:"contextTokens,omitzero"`
	ContextWindow int             `json:"contextWindow,omitzero"`
	Queue         []QueueEntry    `json:"queue,omitzero"`
	Config        json.RawMessage `json:"config,omitzero"`
	Pinned        []string        `json:"pinned,omitzero"` // itemIds; absent: none
}

// TurnStarted opens a turn with the messages that it begins with.
type TurnStarted struct {
	Stamp
	TurnID     string   `json:"turnId"`
	MessageIDs []string `json:"messageIds"`
}

// TurnCompleted closes a turn; nothing of the turn follows it.
type TurnCompleted struct {
	Stamp
	TurnID string `json:"turnId"`
	Turn   Turn   `json:"turn"`
}

// ItemEvent is item/started, item/updated and item/completed.
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

// RetryScheduled tells that a model call failed and is tried again after DelayMs.
type RetryScheduled struct {
	Stamp
	TurnID     string     `json:"turnId"`
	Attempt    int        `json:"attempt"`
	MaxRetries int        `json:"maxRetries"`
	DelayMs    int64      `json:"delayMs"`
	Error      RetryError `json:"error"`
}

// RetryError is why a model call is tried again.
type RetryError struct {
	Kind    string `json:"kind" enum:"auth,rate_limit,quota,overloaded,context_overflow,content_filter,client,transient,blank,stream_idle,truncated,script"`
	Message string `json:"message"`
}

// Compaction tells that the context was reduced.
type Compaction struct {
	Stamp
	TurnID         string `json:"turnId,omitzero"`
	Strategy       string `json:"strategy"`
	TokensBefore   int    `json:"tokensBefore"`
	TokensAfter    int    `json:"tokensAfter"`
	MessagesBefore int    `json:"messagesBefore"`
	MessagesAfter  int    `json:"messagesAfter"`
}

// ProposalCreated shows a new proposal with its unified diff.
type ProposalCreated struct {
	Stamp
	Proposal Proposal `json:"proposal"`
	Diff     string   `json:"diff"`
}

// ProposalChanged is proposal/updated and proposal/closed.
type ProposalChanged struct {
	Stamp
	Proposal Proposal `json:"proposal"`
}

// RequestResolved tells that a permission or question became moot.
type RequestResolved struct {
	Stamp
	RequestID string `json:"requestId"`
}
