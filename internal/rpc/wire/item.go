package wire

import (
	"encoding/json"
	"time"
)

// Item is one part of a turn that a client shows. Type determines which fields are set.
//
//house:wire
type Item struct {
	ItemID       string    `json:"itemId"`
	Type         string    `json:"type" enum:"userMessage,assistantMessage,reasoning,toolCall,plan,notice"`
	ParentItemID string    `json:"parentItemId,omitzero"`
	CreatedAt    time.Time `json:"createdAt"`

	// Text is always set for messages, reasoning and notices, even if it is empty.
	Text    *string        `json:"text,omitzero"`
	Content []ContentBlock `json:"content,omitzero"` // also images in a tool result
	// Source is set for userMessage.
	Source string `json:"source,omitzero" enum:"prompt,steer,followUp,job"`
	// Status is always set for toolCall. For a message it is retracted, aborted or absent.
	Status string `json:"status,omitzero" enum:"pending,awaitingPermission,awaitingReview,running,completed,failed,denied,skipped,cancelled,retracted,aborted"`
	// Level is set for notice.
	Level string `json:"level,omitzero" enum:"info,warning,error"`
	// Pinned is set for a userMessage that stays in the model's context after every reduction.
	Pinned bool `json:"pinned,omitzero"`

	Entries []PlanEntry `json:"entries,omitzero"` // plan

	// These fields are set for tool calls. Result is the text that the model gets. Details are for
	// display.
	CallID     string          `json:"callId,omitzero"`
	Name       string          `json:"name,omitzero"`
	Label      string          `json:"label,omitzero"`
	Args       json.RawMessage `json:"args,omitzero"`
	Result     *string         `json:"result,omitzero"`
	Details    json.RawMessage `json:"details,omitzero"`
	IsError    bool            `json:"isError,omitzero"`
	DurationMs int64           `json:"durationMs,omitzero"`
	ProposalID string          `json:"proposalId,omitzero"`
	Locations  []Location      `json:"locations,omitzero"`
}

// PlanEntry is one line of a plan item.
type PlanEntry struct {
	Content string `json:"content"`
	Status  string `json:"status" enum:"pending,inProgress,completed"`
}
