package openai

import (
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Price is what a model costs, in US dollars per million tokens. A zero CacheRead or
// CacheWrite means the price of other input.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead,omitempty"`
	CacheWrite float64 `json:"cacheWrite,omitempty"`
}

// wireUsage is usage in the words of all providers.
type wireUsage struct {
	Prompt        float64    `json:"prompt_tokens"`
	Completion    float64    `json:"completion_tokens"`
	Input         float64    `json:"input_tokens"` // the responses API
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

// maxTokens keeps a nonsensical count from doing harm.
const maxTokens = 1 << 40

// readUsage reads a usage object; nil where there is none.
func readUsage(v jsontext.Value) *message.Usage {
	if !present(v) || v[0] != '{' {
		return nil
	}
	var w wireUsage
	if jsonv2.Unmarshal(v, &w, lenient) != nil {
		return nil
	}
	u := &message.Usage{
		Input: count(w.Prompt, w.Input), Output: count(w.Completion, w.Output), Total: count(w.Total),
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

// count returns the first number that counts something.
func count(numbers ...float64) int {
	for _, f := range numbers {
		if f >= 1 {
			return int(min(f, maxTokens))
		}
	}
	return 0
}

// addCost estimates what the call cost unless the provider said it.
func (m *Model) addCost(model string, u *message.Usage) {
	if u.Cost > 0 {
		return
	}
	p, ok := m.opts.Prices[model]
	if !ok {
		p = lookup(model).Price
	}
	if p == (Price{}) {
		return
	}
	u.Cost, u.CostEstimated = p.cost(*u), true
}

func (p Price) cost(u message.Usage) float64 {
	read, write := p.CacheRead, p.CacheWrite
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	fresh := max(u.Input-u.Cached-u.CacheWrite, 0)
	return (float64(fresh)*p.Input + float64(u.Cached)*read + float64(u.CacheWrite)*write + float64(u.Output)*p.Output) / 1e6
}
