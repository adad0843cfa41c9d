package agent

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Model answers requests. One value may serve many sessions concurrently.
//
// Generate sends one request and returns when the reply is complete. It passes each piece of the
// reply to its last argument as the piece arrives, in order and from the calling goroutine. This
// function must not block. The error is a *retry.Error, or the context's error if ctx has ended.
// Generate makes one attempt. The engine handles retries, fallbacks and repairs that need a second
// call. Generate returns immediately if ctx has ended.
type Model interface {
	Generate(ctx context.Context, req *Request, on func(Delta)) (*Reply, error)
	Info() ModelInfo
}

// ModelInfo describes a model's capabilities. Zero values mean unknown.
type ModelInfo struct {
	ID            string
	Name          string // name that the provider displays
	Provider      string // host or name, for display
	ContextWindow int    // tokens
	MaxOutput     int    // in tokens; 0 if unknown
	Vision        *bool
	Tools         *bool
	Thinking      []string       // levels that the model accepts; nil if unknown
	Price         *message.Costs // the provider's list price in US dollars per million tokens
	Reported      bool           // the provider itself reported some of these values
}

// Request is one model call. The model must not change it or keep it.
type Request struct {
	Model      string // if set, overrides the model's own ID
	System     []SystemBlock
	Messages   []*message.Message
	Tools      []ToolSpec
	ToolChoice string // "", auto, none, required, or a tool's name
	Sampling   Sampling
	Thinking   Thinking
	CacheKey   string // stable per session
	// Knows reports whether the session has a tool, including tools that are not loaded. If it is
	// nil, the session has only Tools.
	Knows func(tool string) bool
}

// SystemBlock is a piece of the system prompt. Cache marks the end of a prefix that the provider
// should cache.
type SystemBlock struct {
	Text  string
	Cache bool
}

// Sampling contains sampling parameters. A parameter that is absent or zero is not sent, so the
// provider's default applies. The exception is a temperature that is set to 0, which is sent.
type Sampling struct {
	MaxTokens         int      `json:"maxTokens,omitempty"`
	Temperature       *float64 `json:"temperature,omitempty"`
	TopP              float64  `json:"topP,omitempty"`
	TopK              int      `json:"topK,omitempty"`
	MinP              float64  `json:"minP,omitempty"`
	PresencePenalty   float64  `json:"presencePenalty,omitempty"`
	RepetitionPenalty float64  `json:"repetitionPenalty,omitempty"`
}

// Thinking sets how much the model thinks. An empty Level leaves it to the provider, and "off"
// disables thinking.
type Thinking struct {
	Level  string // "", off, minimal, low, medium, high, xhigh
	Budget int    // tokens for that level; 0 means the provider's default
}

// DeltaKind is the kind of content to which a delta adds.
type DeltaKind string

// The kinds of deltas, as on the wire.
const (
	DeltaText       DeltaKind = "text"
	DeltaReasoning  DeltaKind = "reasoning"
	DeltaToolInput  DeltaKind = "toolInput"
	DeltaToolOutput DeltaKind = "toolOutput"
)

// Delta is a piece of a streaming reply. Text ends at a rune boundary.
type Delta struct {
	Kind   DeltaKind
	Text   string
	Index  int    // for toolInput, the index of the call in the reply
	CallID string // for toolInput, once the ID is known
	Name   string // for toolInput, once the name is known
}

// Reply is a complete reply. Message is new and belongs to the caller, who sets its ID, Time and
// TurnID. Finish is the provider's own finish reason.
type Reply struct {
	Message *message.Message
	Finish  string
	Notices []string // information for the user, for example about omitted images
	Lasting []string // notices that are shown only once per session
}

// ToolSpec is the description of a tool for a model.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
	Deferred    bool // loaded on demand; placed after the tools that are always sent
}

// toolSpecs returns the descriptions of the tools for a model.
func toolSpecs(active []*tool.Entry) []ToolSpec {
	specs := make([]ToolSpec, 0, len(active))
	for _, e := range active {
		specs = append(specs, ToolSpec{
			Name: e.Spec.Name, Description: e.Spec.Description, Schema: e.Spec.Schema,
			Deferred: e.Spec.Deferred,
		})
	}
	return specs
}
