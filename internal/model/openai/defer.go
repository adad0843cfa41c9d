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

// Deferred tools over the responses API. OpenAI's tool search can be left to the client: our own
// tool_search goes as a tool of type tool_search with execution "client", its call comes as
// tool_search_call, and what it found goes back as tool_search_output, each tool with
// defer_loading. So a tool that is loaded stands in the conversation where it was found, and what
// the provider has cached of the beginning, tools included, holds. Where the API does not know
// this, loaded tools are sent behind the others.
// https://developers.openai.com/api/docs/guides/tools-tool-search

// searchItem is how a search and its result are called in the API.
const searchItem = "tool_search"

// deferring looks for searches in the call's history; nil where the provider does not know them.
func (c *call) deferring(k can) *modelhttp.Loaded {
	if !k.call || !c.defersLoading() || c.taken("tools") {
		return nil
	}
	return modelhttp.LoadedTools(c.Req)
}

// defersLoading says whether the provider knows defer_loading: the setting, else OpenAI itself from
// gpt-5.4 on.
func (c *call) defersLoading() bool {
	if on := c.m.opts.DeferLoading; on != nil {
		return *on
	}
	return c.m.dialect == OpenAI && isFrom(c.Model, 5, 4)
}

// isFrom says whether a model is this version of GPT or a later one.
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

// searchOutput appends a search's result with the tools that it is the first to load.
func (c *call) searchOutput(b []byte, k can, d *modelhttp.Loaded, m *message.Message) []byte {
	b = modelhttp.AppendField(
		append(b, `{"type":"tool_search_output","execution":"client","status":"completed"`...),
		"call_id",
		m.CallID,
	)
	b = append(modelhttp.AppendKey(b, "tools"), '[')
	start := len(b)
	for _, t := range d.At(m) {
		if k.patch && t.Name == patchTool { // the request has it as a native tool
			continue
		}
		b = appendFunction(modelhttp.Next(b, start), t, `"defer_loading":true,`)
	}
	return append(b, ']', '}')
}

// said is what a search returned that its result has no member for, as a message; nil if nothing.
func said(d *modelhttp.Loaded, m *message.Message) []byte {
	text := d.Said(m)
	if text == "" {
		return nil
	}
	return append(modelhttp.AppendField([]byte(`{"role":"developer"`), "content", text), '}')
}

// appendSearchTool appends our search as the tool search of a client.
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
