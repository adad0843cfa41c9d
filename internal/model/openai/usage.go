package openai

import (
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// wireUsage is usage with the field names of all providers.
type wireUsage struct {
	Prompt        float64    `json:"prompt_tokens"`
	Completion    float64    `json:"completion_tokens"`
	Input         float64    `json:"input_tokens"` // used by the responses API
	Output        float64    `json:"output_tokens"`
	Total         float64    `json:"total_tokens"`
	Cost          *float64   `json:"cost"` // OpenRouter
	CacheHit      float64    `json:"prompt_cache_hit_tokens"`
	CacheRead     float64    `json:"cache_read_input_tokens"`
	CacheCreation float64    `json:"cache_creation_input_tokens"`
	PromptD       wireDetail `json:"prompt_tokens_details"`
	CompletionD   wireDetail `json:"completion_tokens_details"`
	InputD        wireDetail `json:"input_tokens_details"`
	OutputD       wireDetail `json:"output_tokens_details"`
}

type wireDetail struct {
	Cached     float64 `json:"cached_tokens"`
	CacheWrite float64 `json:"cache_write_tokens"`
	Reasoning  float64 `json:"reasoning_tokens"`
}

// maxTokens limits token counts, so that nonsensical values cannot overflow.
const maxTokens = 1 << 40

// readUsage decodes a usage object. It returns nil if there is none.
func readUsage(v jsontext.Value) *message.Usage {
	if !modelhttp.Present(v) || v[0] != '{' {
		return nil
	}
	var w wireUsage
	if jsonv2.Unmarshal(v, &w, modelhttp.Lenient) != nil {
		return nil
	}
	u := &message.Usage{
		Input: count(w.Prompt, w.Input), Output: count(w.Completion, w.Output),
		Total:      count(w.Total),
		Cached:     count(w.PromptD.Cached, w.InputD.Cached, w.CacheHit, w.CacheRead),
		CacheWrite: count(w.PromptD.CacheWrite, w.InputD.CacheWrite, w.CacheCreation),
		Reasoning:  count(w.CompletionD.Reasoning, w.OutputD.Reasoning),
	}
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	if w.Cost != nil && *w.Cost >= 0 {
		u.Cost = *w.Cost
	}
	if u.Total == 0 {
		return nil
	}
	return u
}

// count returns the first number that is at least 1, limited to maxTokens. It returns 0 if there is
// none.
func count(numbers ...float64) int {
	for _, f := range numbers {
		if f >= 1 {
			return int(min(f, maxTokens))
		}
	}
	return 0
}
