package agent

import (
	"encoding/json"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Item is one thing of a turn that a client shows (protocol 9.5).
type Item struct {
	ID        string
	Type      ItemType
	ParentID  string // the sub-agent call that it belongs to
	CreatedAt time.Time

	// userMessage, assistantMessage, reasoning, notice
	Text    string
	Content []message.Block // what a user message holds beside text
	Source  message.Source
	Status  ItemStatus // also retracted and aborted, of messages
	Pinned  bool       // userMessage: no reduction of the context takes it away
	Level   string     // notice: info, warning, error

	Plan []tool.PlanEntry // plan
	Call *CallItem        // toolCall

	// MessageID is the message of the history that the item shows, "" where there is none.
	MessageID string
}

// CallItem is the part of an item that only tool calls have.
type CallItem struct {
	CallID     string
	Name       string
	Label      string
	Args       json.RawMessage
	Result     string // what the model got
	Content    []message.Block
	Details    json.RawMessage
	IsError    bool
	Duration   time.Duration
	ProposalID string
	Locations  []tool.Location
}

// ItemType names what an item is.
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

// ItemStatus is where an item stands.
type ItemStatus string

// The statuses: of tool calls, and below of messages.
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
