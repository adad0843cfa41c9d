package wire

// PromptParams starts a turn or queues a follow-up. Without SessionID, the connection's current
// session is used. If ClientMessageID is repeated, the first result is returned again, and the
// prompt does not run twice.
type PromptParams struct {
	SessionID       string         `json:"sessionId,omitzero"`
	Prompt          Prompt         `json:"prompt"`
	Context         *PromptContext `json:"context,omitzero"`
	Delivery        string         `json:"delivery,omitzero" enum:"auto,queue"`
	ClientMessageID string         `json:"clientMessageId,omitzero"`
	// Pin keeps the message in the model's context after every reduction.
	Pin     bool         `json:"pin,omitzero"`
	Options *TurnOptions `json:"options,omitzero"`
}

// TurnOptions apply to every model call of the turn that a message starts. They override the
// settings without changing them.
type TurnOptions struct {
	Model       string   `json:"model,omitzero"` // a model reference
	Thinking    string   `json:"thinking,omitzero" enum:"off,minimal,low,medium,high,xhigh"`
	MaxTokens   *int     `json:"maxTokens,omitzero"`   // limit for each reply, at least 1
	Temperature *float64 `json:"temperature,omitzero"` // from 0 to 2
	TopP        *float64 `json:"topP,omitzero"`        // more than 0, at most 1
}

// PromptResult is returned when the prompt is accepted.
type PromptResult struct {
	SessionID   string `json:"sessionId"`
	MessageID   string `json:"messageId"`
	TurnID      string `json:"turnId,omitzero"`
	Disposition string `json:"disposition" enum:"started,queued"`
}

// SteerParams adds a message to a running turn. With ItemID, it steers the sub-agent of that tool
// call.
type SteerParams struct {
	SessionID      string `json:"sessionId"`
	Prompt         Prompt `json:"prompt"`
	ExpectedTurnID string `json:"expectedTurnId,omitzero"`
	IfIdle         string `json:"ifIdle,omitzero" enum:"startTurn,queue,error"`
	Persist        *bool  `json:"persist,omitzero"` // absent: true
	// The role system requires persist to be false.
	Role   string `json:"role,omitzero" enum:"user,system"`
	ItemID string `json:"itemId,omitzero"`
	// Pin keeps the message in the model's context after every reduction.
	Pin     bool         `json:"pin,omitzero"`
	Options *TurnOptions `json:"options,omitzero"` // used only if the message starts a turn
}

// SteerResult reports what happened to a steering message.
type SteerResult struct {
	Outcome   string `json:"outcome" enum:"injected,startedTurn,queued"`
	MessageID string `json:"messageId"`
	TurnID    string `json:"turnId,omitzero"`
}

// AbortParams aborts the running turn or, with ItemID, one sub-agent.
type AbortParams struct {
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId,omitzero"`
	ItemID    string `json:"itemId,omitzero"`
	Silent    bool   `json:"silent,omitzero"`
}

// AbortResult reports whether there was something to abort.
type AbortResult struct {
	State string `json:"state" enum:"aborting,idle"`
}

// TurnResult names the turn that was started.
type TurnResult struct {
	TurnID string `json:"turnId"`
}

// QueueParams names a session and, for removal, a queued message.
type QueueParams struct {
	SessionID string `json:"sessionId"`
	MessageID string `json:"messageId,omitzero"`
}

// QueueResult is the current queue.
type QueueResult struct {
	Queue []QueueEntry `json:"queue"`
}

// QueueEntry is a message that is waiting to be delivered.
type QueueEntry struct {
	MessageID string `json:"messageId"`
	Delivery  string `json:"delivery" enum:"steer,followUp"`
	Prompt    Prompt `json:"prompt"`
}

// TurnWaitParams waits for a turn, or for the turn that a message starts or joins.
type TurnWaitParams struct {
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId,omitzero"`
	MessageID string `json:"messageId,omitzero"`
	TimeoutMs int    `json:"timeoutMs,omitzero"`
}

// CompactParams compacts the context now.
type CompactParams struct {
	SessionID    string `json:"sessionId"`
	Instructions string `json:"instructions,omitzero"`
}

// CompactResult reports the result of a compaction.
type CompactResult struct {
	TokensBefore int    `json:"tokensBefore"`
	TokensAfter  int    `json:"tokensAfter"`
	Strategy     string `json:"strategy"`
}
