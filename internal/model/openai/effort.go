package openai

import (
	"slices"
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// levels lists the thinking levels from the lowest to the highest.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh"}

// efforts lists the levels that OpenAI's model families accept, by the prefix of a model's name. It
// contains families that the catalog lacks or lists with other levels. The longest matching prefix
// is used. OpenAI refuses other levels with a 400.
// https://platform.openai.com/docs/api-reference/responses/create#responses-create-reasoning
var efforts = map[string][]string{
	"gpt-5-codex":        levels[2:5],
	"gpt-5-mini":         levels[1:5],
	"gpt-5-nano":         levels[1:5],
	"gpt-5-pro":          levels[4:5],
	"gpt-5.1":            {"off", "low", "medium", "high"},
	"gpt-5.1-codex":      levels[2:5],
	"gpt-5.1-codex-mini": levels[3:5],
	"gpt-5.1-codex-max":  levels[2:],
	"gpt-5.2-codex":      levels[2:],
	"gpt-5.2-pro":        levels[3:],
	"gpt-5.3-codex":      levels[2:],
}

// fromGPT52 lists the levels of models from GPT-5.2 on that are not in efforts.
var fromGPT52 = []string{"off", "low", "medium", "high", "xhigh"}

// reasoning matches the names of OpenAI's models that may reason. gpt-oss is not included, because
// it does not accept an effort.
var reasoning = lazyregexp.New(`^(o\d|gpt-\d|codex)`)

// effortsOf returns the levels that an OpenAI model accepts. It returns nil if the family is
// unknown or the model does not reason.
func effortsOf(model string, known *catalog.Model) []string {
	name := catalog.BaseName(model)
	for n := len(name); n > 0; n-- {
		if n < len(name) && name[n] != '-' && name[n] != ':' && name[n] != '@' {
			continue // "gpt-5" is not the family of "gpt-5.4"
		}
		if e, ok := efforts[name[:n]]; ok {
			return e
		}
	}
	if strings.HasPrefix(name, "gpt-5.") || strings.HasPrefix(name, "gpt-6") {
		return fromGPT52
	}
	if reasoning().MatchString(name) {
		return known.Levels
	}
	return nil
}

// reasons reports whether the model is an OpenAI model that accepts an effort and no sampling
// parameters.
func (c *call) reasons() bool { return c.accepted() != nil }

// accepted returns the levels that the model accepts, or nil if its family is unknown or it does
// not reason.
func (c *call) accepted() []string {
	known := c.Client.Known(c.Model)
	return effortsOf(c.Model, &known)
}

// info returns the capabilities of a model at the endpoint.
func (m *Model) info(id string) agent.ModelInfo {
	i := m.Client.Info(id)
	switch m.dialect {
	case OpenAI, Azure:
		known := m.Client.Known(id)
		i.Thinking = effortsOf(id, &known)
	case OpenRouter, Anthropic, DeepSeek, Local:
		i.Thinking = modelhttp.WithOff(i.Thinking)
	case Mistral:
		i.Thinking = nil // the provider decides whether the model thinks
	}
	return i
}

// effort returns OpenAI's name for the request's level. A level that the model does not accept
// becomes the next higher accepted level, or the highest one.
func (c *call) effort() string {
	level := c.Req.Thinking.Level
	used := level
	if accepted := c.accepted(); accepted != nil && !slices.Contains(accepted, level) {
		used = accepted[len(accepted)-1]
		for _, a := range accepted {
			if slices.Index(levels, a) >= slices.Index(levels, level) {
				used = a
				break
			}
		}
		c.LevelNotice(level, used+" is used instead")
	}
	if used == "off" {
		return "none"
	}
	return used
}
