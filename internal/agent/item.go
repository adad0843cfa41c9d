package agent

import (
	"encoding/json"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Item is one part of a turn that a client shows (protocol 9.5, in
// docs/reference/protocol/types.md).
type Item struct {
	ID        string
	Type      ItemType
	ParentID  string // the sub-agent call to which the item belongs
	CreatedAt time.Time

	// Text is set for userMessage, assistantMessage, reasoning and notice.
	Text    string
	Content []message.Block // for a user message, its content other than text
	Source  message.Source
	Status  ItemStatus // for messages, also retracted or aborted
	Pinned  bool       // for a userMessage, whether the message is pinned
	Level   string     // for a notice: info, warning or error

	Plan []tool.PlanEntry // for a plan
	Call *CallItem        // for a toolCall

	// MessageID is the ID of the message in the history that the item shows, or "".
	MessageID string
}

// CallItem contains the fields that only tool calls have.
type CallItem struct {
	CallID     string
	Name       string
	Label      string
	Args       json.RawMessage
	Result     string // the text that the model received
	Content    []message.Block
	Details    json.RawMessage
	IsError    bool
	Duration   time.Duration
	ProposalID string
	Locations  []tool.Location
}

// ItemType is the type of an item.
type ItemType string

// The item types.
const (
	ItemUser      ItemType = "userMessage"
	ItemAssistant ItemType = "assistantMessage"
	ItemReasoning ItemType = "reasoning"
	ItemToolCall  ItemType = "toolCall"
	ItemPlan      ItemType = "plan"
	ItemNotice    ItemType = "notice"
)

// ItemStatus is the status of an item.
type ItemStatus string

// The statuses of tool calls, followed by those of messages.
const (
	StatusPending            ItemStatus = "pending"
	StatusAwaitingPermission            = ItemStatus(tool.StatusAwaitingPermission)
	StatusAwaitingReview                = ItemStatus(tool.StatusAwaitingReview)
	StatusRunning                       = ItemStatus(tool.StatusRunning)
	StatusCompleted          ItemStatus = "completed"
	StatusFailed             ItemStatus = "failed"
	StatusDenied             ItemStatus = "denied"
	StatusSkipped            ItemStatus = "skipped"
	StatusCancelled          ItemStatus = "cancelled"

	StatusRetracted ItemStatus = "retracted"
	StatusAborted   ItemStatus = "aborted"
)
