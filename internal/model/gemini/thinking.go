package gemini

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// maxBudget is the largest thinking budget, in tokens, that every model accepts.
const maxBudget = 24576

// leastPro is the smallest budget, in tokens, of the version 2.5 models that always think.
const leastPro = 128

// generation is a model's version, such as {2, 5}. It is zero if the model's name has no version.
type generation struct{ major, minor int }

// generationOf parses the version in the name of a Gemini model: "gemini-2.5-pro",
// "gemini-3-flash-preview", "models/gemini-3.1-pro". known is false for models of other vendors.
func generationOf(model string) (g generation, known bool) {
	_, rest, known := strings.Cut(strings.ToLower(model), "gemini-")
	rest, _, _ = strings.Cut(rest, "-")
	major, minor, _ := strings.Cut(rest, ".")
	return generation{digits(major), digits(minor)}, known
}

// digits parses a version number of one or two digits. It returns 0 for anything else.
func digits(s string) int {
	if len(s) == 0 || len(s) > 2 {
		return 0
	}
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' {
			return 0
		}
		n = 10*n + int(r-'0')
	}
	return n
}

// before reports whether the model is known to be older than a version.
func (g generation) before(major, minor int) bool {
	return g.major > 0 && (g.major < major || g.major == major && g.minor < minor)
}

// info returns the capabilities of a model at the endpoint.
func (m *Model) info(id string) agent.ModelInfo {
	i := m.Client.Info(id)
	if g, known := generationOf(id); known && g.before(3, 0) && !pro(id) {
		i.Thinking = modelhttp.WithOff(i.Thinking)
	}
	return i
}

// thinking appends the setting for the amount of thinking. This is a level for models from version
// 3 on or without a version, a number of tokens for version 2.5, and nothing for earlier versions.
func (c *call) thinking(b []byte) []byte {
	level := c.Req.Thinking.Level
	if level == "" {
		return b
	}
	g, known := generationOf(c.Model)
	switch {
	case !known || g.before(2, 5):
		if level != "off" {
			c.LastingNotice(c.Model + " does not support thinking, so the level is not sent")
		}
		return b
	case g.before(3, 0):
		return c.budget(b, level)
	}
	b = append(modelhttp.AppendKey(b, "thinkingConfig"), '{')
	if level != "off" {
		b = append(modelhttp.AppendKey(b, "includeThoughts"), "true"...)
	}
	return append(modelhttp.AppendField(b, "thinkingLevel", c.level(level, g)), '}')
}

// pro reports whether a model is a Pro model, which always thinks.
func pro(model string) bool { return strings.Contains(model, "-pro") }

// level returns the API's name for a level. If the model does not support the level, level returns
// another one and adds a notice. Models from version 3 on cannot switch thinking off. No model
// supports xhigh. Pro models do not support minimal, and version 3.0 Pro also does not support
// medium.
func (c *call) level(level string, g generation) string {
	used := level
	switch {
	case level == "off" && !pro(c.Model):
		used = "minimal"
	case (level == "off" || level == "minimal") && pro(c.Model):
		used = "low"
	case level == "medium" && pro(c.Model) && g == generation{3, 0}, level == "xhigh":
		used = "high"
	}
	if used != level {
		c.LevelNotice(level, used+" is used instead")
	}
	return strings.ToUpper(used)
}

// budget appends the number of tokens for thinking.
func (c *call) budget(b []byte, level string) []byte {
	b = append(modelhttp.AppendKey(b, "thinkingConfig"), '{')
	if level == "off" {
		n := 0
		if pro(c.Model) {
			n = leastPro
			c.LevelNotice(level, "its smallest budget is used instead")
		}
		return append(modelhttp.AppendInt(b, "thinkingBudget", n), '}')
	}
	n := c.ThinkingBudget()
	if c.Req.Thinking.Budget == 0 {
		n = min(n, maxBudget)
	}
	b = append(modelhttp.AppendKey(b, "includeThoughts"), "true"...)
	return append(modelhttp.AppendInt(b, "thinkingBudget", n), '}')
}
