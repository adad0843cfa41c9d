package anthropic

import (
	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// Deferred tools. A tool with defer_loading is not part of the cached prefix. It appears in the
// conversation where a tool_reference names it, so that the prompt cache stays valid when a search
// loads tools. If a compaction drops the search's result, its tools are sent before the
// conversation.
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-use-with-prompt-caching

// defersLoading reports whether the endpoint supports defer_loading. If the option is not set,
// Claude models from version 4.5 on support it.
func (c *call) defersLoading() bool {
	if on := c.Client.Options.DeferLoading; on != nil {
		return *on
	}
	g, known := generationOf(c.Model)
	return known && g.atLeast(4, 5)
}

// searchResult encodes the result of a search as references to the tools that no earlier search has
// loaded.
func (c *call) searchResult(m *message.Message) []byte {
	b := []byte(`{"type":"tool_result"`)
	b = modelhttp.AppendField(b, "tool_use_id", modelhttp.PlainName(m.CallID))
	b = append(modelhttp.AppendKey(b, "content"), '[')
	start := len(b)
	for _, t := range c.loaded.At(m) {
		b = modelhttp.AppendField(
			append(modelhttp.Next(b, start), `{"type":"tool_reference"`...),
			"tool_name",
			modelhttp.PlainName(t.Name),
		)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// split divides the tools into those in the cached prefix and those that a search loaded.
func (c *call) split() (front, loaded []agent.ToolSpec) {
	for _, t := range c.Req.Tools {
		if c.loaded.Has(t.Name) {
			loaded = append(loaded, t)
		} else {
			front = append(front, t)
		}
	}
	return front, loaded
}
