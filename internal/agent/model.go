package agent

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Model answers requests. One value may serve many sessions at once.
//
// Generate sends one request and returns when the reply is whole. Each piece that
// arrives is given to on, in order, from the calling goroutine; on must not block.
// The error is a *retry.Error, or the context's when ctx ended. Generate does one
// attempt: retries, fallbacks and repairs that need a second call are the engine's.
// A Generate whose ctx has ended returns at once.
type Model interface {
	Generate(ctx context.Context, req *Request, on func(Delta)) (*Reply, error)
	Info() ModelInfo
}

// ModelInfo says what a model can do. Zero means unknown.
type ModelInfo struct {
	ID            string
	Name          string // as the provider shows it
	Provider      string // host or name, for the screen
	ContextWindow int    // tokens
	MaxOutput     int    // tokens; 0 if it is not known
	Vision        *bool
	Tools         *bool
	Thinking      []string       // levels that the model accepts; nil if they are not known
	Price         *message.Costs // as the provider lists it, in US dollars per million tokens
	Reported      bool           // the provider said some of this itself
}

// Request is one model call. The model must not change it or keep it.
type Request struct {
	Model      string // overrides the model's own id where set
	System     []SystemBlock
	Messages   []*message.Message
	Tools      []ToolSpec
	ToolChoice string // "", auto, none, required, or a tool's name
	Sampling   Sampling
	Thinking   Thinking
	CacheKey   string // stable per session
	// Knows reports whether the session has a tool, also one that is not loaded; nil: only Tools.
	Knows func(tool string) bool
}

// SystemBlock is a piece of the system prompt; Cache marks the end of a prefix worth caching.
type SystemBlock struct {
	Text  string
	Cache bool
}

// Sampling parameters; what is absent or zero means the provider's default and is not sent. A
// temperature of 0 is a choice: it is sent.
type Sampling struct {
	MaxTokens         int      `json:"maxTokens,omitempty"`
	Temperature       *float64 `json:"temperature,omitempty"`
	TopP              float64  `json:"topP,omitempty"`
	TopK              int      `json:"topK,omitempty"`
	MinP              float64  `json:"minP,omitempty"`
	PresencePenalty   float64  `json:"presencePenalty,omitempty"`
	RepetitionPenalty float64  `json:"repetitionPenalty,omitempty"`
}

// Thinking sets how much the model thinks: "" leaves it to the provider, "off" asks for none.
type Thinking struct {
	Level  string // "", off, minimal, low, medium, high, xhigh
	Budget int    // tokens for that level, 0 = the provider's
}

// DeltaKind says what a delta adds to.
type DeltaKind string

// The kinds of deltas, as on the wire.
const (
	DeltaText       DeltaKind = "text"
	DeltaReasoning  DeltaKind = "reasoning"
	DeltaToolInput  DeltaKind = "toolInput"
	DeltaToolOutput DeltaKind = "toolOutput"
)

// Delta is a piece of a reply while it streams. Text ends at a rune border.
type Delta struct {
	Kind   DeltaKind
	Text   string
	Index  int    // toolInput: which call of the reply
	CallID string // toolInput: once known
	Name   string // toolInput: once known
}

// Reply is a whole reply. Message is new and the caller's; its ID, Time and TurnID are
// the caller's to set. Finish is the provider's own word for its end.
type Reply struct {
	Message *message.Message
	Finish  string
	Notices []string // what the user should know, such as stripped images
	Lasting []string // those of Notices that are shown once in a session
}

// ToolSpec is what a model is told of a tool.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
	Strict      bool
	Deferred    bool // was loaded on demand: it stands behind those that are always sent
}

// toolSpecs returns what a model gets of the tools.
func toolSpecs(active []*tool.Entry) []ToolSpec {
	specs := make([]ToolSpec, 0, len(active))
	for _, e := range active {
		specs = append(specs, ToolSpec{
			Name: e.Spec.Name, Description: e.Spec.Description, Schema: e.Spec.Schema,
			Strict: e.Spec.Strict, Deferred: e.Spec.Deferred,
		})
	}
	return specs
}
