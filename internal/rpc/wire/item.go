package wire

import (
	"encoding/json"
	"time"
)

// Item is one thing of a turn that a client shows. Type says which fields are set.
//
//house:wire
type Item struct {
	ItemID       string    `json:"itemId"`
	Type         string    `json:"type" enum:"userMessage,assistantMessage,reasoning,toolCall,plan,notice"`
	ParentItemID string    `json:"parentItemId,omitzero"`
	CreatedAt    time.Time `json:"createdAt"`

	// Messages, reasoning and notices. Always sent with them, empty or not.
	Text    *string        `json:"text,omitzero"`
	Content []ContentBlock `json:"content,omitzero"` // also images of a tool's result
	// Source is set for userMessage.
	Source string `json:"source,omitzero" enum:"prompt,steer,followUp,job"`
	// Status is always set for toolCall. A message has retracted or aborted, or none.
	Status string `json:"status,omitzero" enum:"pending,awaitingPermission,awaitingReview,running,completed,failed,denied,skipped,cancelled,retracted,aborted"`
	// Level is set for notice.
	Level string `json:"level,omitzero" enum:"info,warning,error"`
	// Pinned is set for a userMessage that stays in the model's view, whatever is reduced.
	Pinned bool `json:"pinned,omitzero"`

	Entries []PlanEntry `json:"entries,omitzero"` // plan

	// Tool calls. Result is the text that the model gets, Details is for the screen.
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
