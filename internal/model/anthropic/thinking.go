package anthropic

import (
	"slices"
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// minBudget is the smallest thinking budget that the API accepts, in tokens.
const minBudget = 1024

// generation is a model's version, such as {4, 5}. It is zero if the model's name has no version.
type generation struct{ major, minor int }

// generationOf parses the version in the name of a Claude model: "claude-3-7-sonnet-latest",
// "claude-opus-4-20250514" (a date is not a version), "anthropic.claude-sonnet-4-6-v1:0". known is
// false for models of other vendors.
func generationOf(model string) (g generation, known bool) {
	_, name, known := strings.Cut(strings.ToLower(model), "claude-")
	var numbers []int
	for _, part := range strings.FieldsFunc(name,
		func(r rune) bool { return strings.ContainsRune("-.@:_", r) }) {
		n := 0
		for _, r := range part {
			if r < '0' || r > '9' || n > 99 {
				n = -1
				break
			}
			n = 10*n + int(r-'0')
		}
		switch {
		case n >= 0 && n <= 99 && len(numbers) < 2:
			numbers = append(numbers, n)
		case len(numbers) > 0:
			numbers = append(numbers, 0)
		}
	}
	if len(numbers) > 0 {
		g.major = numbers[0]
	}
	if len(numbers) > 1 {
		g.minor = numbers[1]
	}
	return g, known
}

func (g generation) atLeast(major, minor int) bool {
	return g.major > major || g.major == major && g.minor >= minor
}

// info returns the capabilities of a model at the endpoint.
func (m *Model) info(id string) agent.ModelInfo {
	i := m.Client.Info(id)
	if g, _ := generationOf(id); g.major == 3 && g.minor < 7 {
		i.Thinking = nil
	}
	i.Thinking = modelhttp.WithOff(i.Thinking)
	return i
}

// thinks describes how a request configures thinking.
type thinks struct {
	adaptive bool // the model decides how long it thinks, depending on effort
	effort   string
	off      bool // whether thinking is explicitly disabled
	budget   int  // thinking budget in tokens, for older models; 0 means none
	samples  bool // the model accepts sampling parameters
}

// on reports whether the request enables thinking.
func (t thinks) on() bool { return t.adaptive || t.budget > 0 }

// thinking decides how the request configures thinking. Models from version 4.6 on decide
// themselves how much they think. Models from version 3.7 to 4.5 get a budget, and earlier ones do
// not think.
func (c *call) thinking(limit int) thinks {
	g, known := generationOf(c.Model)
	unnamed := known && g == generation{} // "claude-mythos-preview"
	t := thinks{samples: !unnamed && !g.atLeast(4, 7)}
	level := c.Req.Thinking.Level
	switch {
	case level == "":
	case level == "off":
		t.off = g.atLeast(5, 0) // earlier models think only if the request enables it
	case c.Forced():
		c.Notice("thinking is off for this call: the API does not allow it with a required tool")
	case unnamed || g.atLeast(4, 6):
		t.adaptive, t.effort = true, c.effort(level, g)
	case g.major == 3 && g.minor < 7:
		c.LastingNotice(c.Model + " does not support thinking, so the level is not sent")
	case c.begunWithout():
		c.Notice("thinking is off until the turn ends, because " + c.Model +
			" began the turn without thinking")
	default:
		if t.budget = c.budget(limit); t.budget == 0 {
			c.Notice("thinking is off: sampling.maxTokens leaves no room for it")
		}
	}
	t.samples = t.samples && !t.on()
	return t
}

// effort returns the API's name for a level. If the model does not support the level, effort
// returns another one and adds a notice.
func (c *call) effort(level string, g generation) string {
	used := level
	switch {
	case level == "minimal":
		used = "low"
	case level == "xhigh" && g.major == 4 && g.minor < 7:
		used = "high"
	}
	if used != level {
		c.LevelNotice(level, used+" is used instead")
	}
	return used
}

// budget returns the number of tokens of the output limit that are reserved for thinking. This is
// less than the whole limit. It is 0 if too few tokens would be left for the answer.
func (c *call) budget(limit int) int {
	if limit < 2*minBudget {
		return 0
	}
	return min(max(c.ThinkingBudget(), minBudget), limit-minBudget)
}

// begunWithout reports whether the first reply of the running turn does not begin with thinking of
// this model. The API refuses such a turn if thinking has a budget.
func (c *call) begunWithout() bool {
	begin := 0
	for i, e := range c.entries {
		if e.user && !e.results {
			begin = i
		}
	}
	return begin+1 < len(c.entries) && !c.beginsThinking(c.entries[begin+1].first)
}

// beginsThinking reports whether a reply, as it is sent, begins with a thinking block from this
// model.
func (c *call) beginsThinking(m *message.Message) bool {
	i := slices.IndexFunc(m.Content, func(b message.Block) bool {
		raw, _ := takeBack(&b)
		return raw != nil || b.Type == message.ToolUse ||
			b.Type == message.Text && strings.TrimSpace(b.Text) != ""
	})
	if i < 0 || m.Model != c.Model {
		return false
	}
	_, is := takeBack(&m.Content[i])
	return is
}
