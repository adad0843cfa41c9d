package openai

import (
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// chatThinking appends the setting for the amount of thinking, in the provider's format. An unset
// level appends nothing. "off" is sent, because some models think by default.
func (c *call) chatThinking(b []byte) []byte {
	t := c.Req.Thinking
	if t.Level == "" {
		return b
	}
	off := t.Level == "off"
	switch c.m.dialect {
	case OpenAI, Azure:
		if !c.takesEffort(t.Level) {
			return b
		}
		return modelhttp.AppendField(b, "reasoning_effort", c.effort())
	case OpenRouter:
		return c.openRouterThinking(b, off, t.Budget)
	case Anthropic:
		if off {
			return append(modelhttp.AppendKey(b, "thinking"), `{"type":"disabled"}`...)
		}
		budget := c.anthropicBudget(c.outputLimit(c.Client.Info(c.Model)))
		if budget == 0 {
			c.Notice("thinking is off: sampling.maxTokens leaves no room for it")
			return b
		}
		b = append(modelhttp.AppendKey(b, "thinking"), `{"type":"enabled"`...)
		return append(modelhttp.AppendInt(b, "budget_tokens", budget), '}')
	case Gemini:
		return c.geminiThinking(b, off, t.Budget)
	case DeepSeek:
		if off {
			return append(modelhttp.AppendKey(b, "thinking"), `{"type":"disabled"}`...)
		}
		return append(modelhttp.AppendKey(b, "thinking"), `{"type":"enabled"}`...)
	case Mistral:
		if !off || strings.HasPrefix(catalog.BaseName(c.Model), "magistral") {
			c.LevelNotice(t.Level, "the provider decides how much it thinks")
		}
		return b
	case Local:
		return c.localThinking(b, off)
	}
	return modelhttp.AppendField(b, "reasoning_effort", c.effort())
}

// takesEffort reports whether a level is sent to OpenAI's API. It is sent to models that are known
// to accept an effort. Unless the level is off, it is also sent to unknown models, such as a
// deployment with its own name.
func (c *call) takesEffort(level string) bool {
	reasons := c.reasons()
	found := reasons || c.Client.Known(c.Model).Found
	if !reasons && found && level != "off" {
		c.LastingNotice(c.Model + " has no thinking levels, so none is sent")
	}
	return reasons || !found && level != "off"
}

// minBudget is the smallest thinking budget that Anthropic accepts, in tokens.
const minBudget = 1024

// anthropicBudget returns the number of tokens of the output limit that a request to Anthropic
// assigns to thinking. This is less than the whole limit. It is 0 if too few tokens would be left
// for the answer.
func (c *call) anthropicBudget(limit int) int {
	t := c.Req.Thinking
	if c.m.dialect != Anthropic || t.Level == "" || t.Level == "off" {
		return 0
	}
	if limit < 2*minBudget {
		return 0
	}
	return min(max(c.ThinkingBudget(), minBudget), limit-minBudget)
}

func (c *call) openRouterThinking(b []byte, off bool, budget int) []byte {
	b = append(modelhttp.AppendKey(b, "reasoning"), '{')
	switch {
	case off:
		b = append(modelhttp.AppendKey(b, "enabled"), "false"...)
	case budget > 0:
		b = modelhttp.AppendInt(b, "max_tokens", budget)
	default:
		b = modelhttp.AppendField(b, "effort", c.Req.Thinking.Level)
	}
	return append(b, '}')
}

func (c *call) geminiThinking(b []byte, off bool, budget int) []byte {
	if budget > 0 && !off {
		b = append(modelhttp.AppendKey(b, "extra_body"),
			`{"google":{"thinking_config":{"include_thoughts":true`...)
		return append(modelhttp.AppendInt(b, "thinking_budget", budget), "}}}"...)
	}
	level := c.effort()
	if level == "xhigh" {
		level = "high"
		c.LevelNotice("xhigh", "high is used instead")
	}
	return modelhttp.AppendField(b, "reasoning_effort", level)
}

// localThinking supports chat templates with a switch for thinking and templates with levels.
func (c *call) localThinking(b []byte, off bool) []byte {
	if off {
		return append(modelhttp.AppendKey(b, "chat_template_kwargs"),
			`{"enable_thinking":false}`...)
	}
	b = append(modelhttp.AppendKey(b, "chat_template_kwargs"), `{"enable_thinking":true`...)
	used := c.Req.Thinking.Level
	switch used {
	case "minimal":
		used = "low"
	case "xhigh":
		used = "high"
	}
	if level := c.Req.Thinking.Level; used != level {
		c.LevelNotice(level, used+" is used instead")
	}
	return append(modelhttp.AppendField(b, "reasoning_effort", used), '}')
}
