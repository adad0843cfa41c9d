package anthropic_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
)

// loadedBy returns the result of a tool search that loads tools.
func loadedBy(id, text string, tools ...string) *message.Message {
	m := message.NewText(message.RoleTool, text)
	m.CallID, m.Name = id, "tool_search"
	if len(tools) > 0 {
		list, _ := json.Marshal(tools)
		m.Meta = map[string]json.RawMessage{"activate": list}
	}
	return m
}

func searchCall(id string) *message.Message {
	return &message.Message{
		Role: message.RoleAssistant,
		Content: []message.Block{
			{
				Type: message.ToolUse,
				Call: &message.ToolCall{
					ID:   id,
					Name: "tool_search",
					Args: json.RawMessage(`{"query":"x"}`),
				},
			},
		},
	}
}

var deferredTools = []agent.ToolSpec{
	{Name: "read"},
	{Name: "tool_search"},
	{Name: "one", Deferred: true},
	{Name: "three", Deferred: true},
	{Name: "two", Deferred: true},
}

// TestDeferLoading checks that a search result refers to each tool that no earlier search loaded,
// and that such a tool is not sent with the cached tools. Tools that were loaded in another way are
// sent with the cached tools. The remaining text of a search follows the results.
func TestDeferLoading(t *testing.T) {
	req := &agent.Request{
		Tools: deferredTools,
		Messages: append(
			modeltest.User("hi").Messages,
			searchCall("c1"),
			loadedBy("c1", "Loaded: one", "one"),
			searchCall(
				"c2",
			),
			loadedBy("c2", "Loaded: one, two", "one", "two"),
			searchCall("c3"),
			loadedBy("c3", "No tool matches."),
		),
	}
	const schema = `"input_schema":{"type":"object","properties":{}}`
	const front = `{"name":"read",` + schema + `},{"name":"tool_search",` + schema + `}`
	body, _ := send(t, "claude-sonnet-4-5", req)
	modeltest.Has(
		t,
		"deferred",
		body,
		"tools",
		`[`+front+`,{"name":"three",`+schema+
			`,"cache_control":{"type":"ephemeral"}},{"name":"one",`+schema+
			`,"defer_loading":true},{"name":"two",`+schema+`,"defer_loading":true}]`,
	)
	modeltest.Has(
		t, "deferred", body, "messages", `[{"role":"user","content":[{"type":"text","text":"hi"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"tool_search",`+
			`"input":{"query":"x"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1",`+
			`"content":[{"type":"tool_reference","tool_name":"one"}]}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"c2","name":"tool_search",`+
			`"input":{"query":"x"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2",`+
			`"content":[{"type":"tool_reference","tool_name":"two"}]},`+
			`{"type":"text","text":"Result of tool_search: Loaded: one, two","cache_control":{`+
			`"type":"ephemeral"}}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"tool_search",`+
			`"input":{"query":"x"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3",`+
			`"content":[{"type":"text","text":"No tool matches."}],"cache_control":{`+
			`"type":"ephemeral"}}]}]`)
	body, _ = send(t, "claude-opus-4-1", req)
	modeltest.Has(
		t,
		"an older model",
		body,
		"tools",
		`[`+front+`,{"name":"one",`+schema+`},{"name":"three",`+schema+`},{"name":"two",`+schema+
			`,"cache_control":{"type":"ephemeral"}}]`,
	)
}

// TestLateToolsKeepTheCache checks that loading a tool during a conversation does not change the
// cached prefix if the model supports defer_loading.
func TestLateToolsKeepTheCache(t *testing.T) {
	on, off := true, false
	for _, c := range []struct {
		defers *bool
		kept   bool
	}{{&on, true}, {&off, false}} {
		m, _ := play(
			t,
			modelhttp.Options{Model: "m", DeferLoading: c.defers},
			`{"toolCalls":[{"name":"tool_search"}]}`,
			`{"text":"ok"}`,
		)
		req := modeltest.User("find a tool")
		req.Tools, req.System = deferredTools[:2], []agent.SystemBlock{
			{Text: fmt.Sprint(make([]int, 2000))},
		}
		id := modeltest.Ask(t, m, req).ToolCalls()[0].ID
		req.Messages = append(req.Messages, loadedBy(id, "Loaded: one", "one"))
		req.Tools = deferredTools[:3]
		u := modeltest.Ask(t, m, req).Usage
		if kept := 100*u.Cached > 80*u.Input; kept != c.kept {
			t.Errorf(
				"defer_loading %v: %d of %d tokens were read from the cache",
				*c.defers,
				u.Cached,
				u.Input,
			)
		}
	}
}
