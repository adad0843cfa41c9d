package agentapi

import (
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// maxTemperature is the highest temperature that any provider accepts.
const maxTemperature = 2

// thinkingLevels are the valid values of options.thinking.
var thinkingLevels = []string{"off", "minimal", "low", "medium", "high", "xhigh"}

// turnOptions validates the options of a message. The error names the field and the valid values.
func turnOptions(o *wire.TurnOptions) (*agent.TurnOptions, error) {
	if o == nil || *o == (wire.TurnOptions{}) {
		return nil, nil
	}
	out := &agent.TurnOptions{Model: o.Model, Thinking: o.Thinking, Temperature: o.Temperature}
	if o.Model != "" && strings.TrimSpace(o.Model) != o.Model {
		return nil, Invalid("options.model",
			"%q must be a model reference without spaces around it", o.Model)
	}
	if o.Thinking != "" && !slices.Contains(thinkingLevels, o.Thinking) {
		return nil, Invalid("options.thinking",
			"%q is not one of %s", o.Thinking, strings.Join(thinkingLevels, ", "))
	}
	if n := o.MaxTokens; n != nil {
		if out.MaxTokens = *n; *n < 1 {
			return nil, Invalid("options.maxTokens", "must be at least 1, got %d", *n)
		}
	}
	if t := o.Temperature; t != nil && (*t < 0 || *t > maxTemperature) {
		return nil, Invalid("options.temperature",
			"must be from 0 to %d, got %g", maxTemperature, *t)
	}
	if p := o.TopP; p != nil {
		if out.TopP = *p; *p <= 0 || *p > 1 {
			return nil, Invalid("options.topP", "must be more than 0 and at most 1, got %g", *p)
		}
	}
	return out, nil
}
