package openai

import (
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// levels are the levels of thinking from the least to the most.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh"}

// efforts are the levels that families of OpenAI's models accept, by the beginning of a model's
// name; the longest beginning that fits wins. Other levels are refused with a 400.
// https://platform.openai.com/docs/api-reference/responses/create#responses-create-reasoning
var efforts = map[string][]string{
	"o1":                 levels[2:5],
	"o3":                 levels[2:5],
	"o4-mini":            levels[2:5],
	"gpt-5":              levels[1:5],
	"gpt-5-codex":        levels[2:5],
	"gpt-5-pro":          levels[4:5],
	"gpt-5.1":            {"off", "low", "medium", "high"},
	"gpt-5.1-codex":      levels[2:5],
	"gpt-5.1-codex-mini": levels[3:5],
	"gpt-5.1-codex-max":  levels[2:],
	"gpt-5.2-codex":      levels[2:],
	"gpt-5.2-pro":        levels[3:],
	"gpt-5.3-codex":      levels[2:],
}

// fromGPT52 are the levels of the models from GPT-5.2 on that efforts does not list.
var fromGPT52 = []string{"off", "low", "medium", "high", "xhigh"}

// effortsOf returns the levels that a model accepts, nil for a model of an unknown family.
func effortsOf(model string) []string {
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
	return nil
}

// effort is OpenAI's word for the request's level. A level that the model does not accept becomes
// the next higher one that it accepts, or its highest.
func (c *call) effort() string {
	level := c.Req.Thinking.Level
	used := level
	if accepted := effortsOf(c.Model); accepted != nil && !slices.Contains(accepted, level) {
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
