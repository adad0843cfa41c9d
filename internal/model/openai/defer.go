package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// Deferred tools in the responses API. OpenAI lets the client run the tool search. The tool
// tool_search is sent with type tool_search and execution "client". Its call arrives as
// tool_search_call. Its result is sent back as tool_search_output, with defer_loading on each tool.
// A loaded tool therefore appears in the conversation where the search found it, and the provider's
// cached prefix, including tools, stays valid. If the API does not support this, loaded tools are
// sent after the others. https://developers.openai.com/api/docs/guides/tools-tool-search

// searchItem is the prefix of the API's types for a search and its result.
const searchItem = "tool_search"

// deferring finds searches in the call's history. It returns nil if the provider does not support
// deferred tools.
func (c *call) deferring(k can) *modelhttp.Loaded {
	if !k.call || !c.defersLoading() {
		return nil
	}
	return modelhttp.LoadedTools(c.Req)
}

// defersLoading reports whether the provider supports defer_loading. If the option DeferLoading is
// not set, only OpenAI supports it, for gpt-5.4 and later.
func (c *call) defersLoading() bool {
	if on := c.m.opts.DeferLoading; on != nil {
		return *on
	}
	return c.m.dialect == OpenAI && isFrom(c.Model, 5, 4)
}

// isFrom reports whether a model is this version of GPT or a later one.
func isFrom(model string, major, minor int) bool {
	version, ok := strings.CutPrefix(catalog.BaseName(model), "gpt-")
	if !ok {
		return false
	}
	version, _, _ = strings.Cut(version, "-")
	first, second, _ := strings.Cut(version, ".")
	a, err := strconv.Atoi(first)
	b, minorErr := strconv.Atoi(second)
	return err == nil && (a > major || a == major && minorErr == nil && b >= minor)
}

// searchOutput appends a search's result with the tools that no earlier search has loaded.
func (c *call) searchOutput(b []byte, k can, d *modelhttp.Loaded, m *message.Message) []byte {
	b = modelhttp.AppendField(
		append(b, `{"type":"tool_search_output","execution":"client","status":"completed"`...),
		"call_id",
		m.CallID,
	)
	b = append(modelhttp.AppendKey(b, "tools"), '[')
	start := len(b)
	for _, t := range d.At(m) {
		if k.patch && t.Name == patchTool { // the request contains it as a native tool
			continue
		}
		b = appendFunction(modelhttp.Next(b, start), t, `"defer_loading":true,`)
	}
	return append(b, ']', '}')
}

// said returns a message with the text of a search result that a tool_search_output item cannot
// contain. It returns nil if there is no such text.
func said(d *modelhttp.Loaded, m *message.Message) []byte {
	text := d.Said(m)
	if text == "" {
		return nil
	}
	return append(modelhttp.AppendField([]byte(`{"role":"developer"`), "content", text), '}')
}

// appendSearchTool appends tool_search as a tool search that the client runs.
func appendSearchTool(b []byte, t *agent.ToolSpec) []byte {
	b = modelhttp.AppendField(
		append(b, `{"type":"tool_search","execution":"client"`...),
		"description",
		t.Description,
	)
	if json.Valid(t.Schema) && len(t.Schema) > 0 {
		b = append(modelhttp.AppendKey(b, "parameters"), t.Schema...)
	}
	return append(b, '}')
}
