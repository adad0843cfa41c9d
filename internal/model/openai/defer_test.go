package openai_test

import (
	"encoding/json"
	"testing"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// searched returns a history in which two tool searches loaded tools and a third found none.
func searched() *agent.Request {
	search := func(id string) *message.Message {
		return &message.Message{Role: message.RoleAssistant,
			Content: []message.Block{{Type: message.ToolUse,
				Call: &message.ToolCall{ID: id, Name: "tool_search",
					Args: json.RawMessage(`{"query":"x"}`)}}}}
	}
	found := func(id, text, activate string) *message.Message {
		m := message.NewText(message.RoleTool, text)
		m.CallID, m.Name = id, "tool_search"
		if activate != "" {
			m.Meta = map[string]json.RawMessage{"activate": json.RawMessage(activate)}
		}
		return m
	}
	schema := json.RawMessage(`{"type":"object"}`)
	return &agent.Request{
		Messages: append(modeltest.User("hi").Messages, search("c1"),
			found("c1", "Loaded: one", `["one"]`), search("c2"),
			found("c2", "Loaded: one, two", `["one","two"]`), search("c3"),
			found("c3", "No tool matches.", "")),
		Tools: []agent.ToolSpec{{Name: "read", Description: "Reads.", Schema: schema},
			{Name: "tool_search", Description: "Finds tools.", Schema: schema},
			{Name: "one", Description: "First.", Schema: schema, Deferred: true},
			{Name: "three", Description: "Not by a search.", Schema: schema, Deferred: true},
			{Name: "two", Description: "Second.", Schema: schema, Deferred: true}},
	}
}

const (
	readTool = `{"type":"function","strict":false,"name":"read","description":"Reads.",` +
		`"parameters":{"type":"object"}}`
	threeTool = `{"type":"function","strict":false,"name":"three","description":"Not by a ` +
		`search.","parameters":{"type":"object"}}`
	ownSearch = `{"type":"tool_search","execution":"client","description":"Finds tools.",` +
		`"parameters":{"type":"object"}}`
	searchCall = `{"type":"tool_search_call","execution":"client","status":"completed","call_id":"`
	searchOut  = `{"type":"tool_search_output","execution":"client","status":"completed",` +
		`"call_id":"`
	oneTool = `{"type":"function","defer_loading":true,"strict":false,"name":"one",` +
		`"description":"First.","parameters":{"type":"object"}}`
	twoTool = `{"type":"function","defer_loading":true,"strict":false,"name":"two",` +
		`"description":"Second.","parameters":{"type":"object"}}`
)

// TestDeferLoading checks that, if the provider supports defer_loading, each tool that a search
// loaded is sent only once, with the result of that search. Tools that were loaded in another way
// are sent in the list of tools. The remaining text of a search is not lost.
func TestDeferLoading(t *testing.T) {
	on, off := true, false
	body, _ := send(t, openai.Options{Options: modelhttp.Options{Model: "gpt-5.4",
		BaseURL: "https://api.openai.com/v1"}, API: openai.APIResponses}, searched())
	modeltest.Has(t, "known", body, "tools", `[`+readTool+`,`+ownSearch+`,`+threeTool+`]`)
	modeltest.Has(t, "known", body, "input", `[{"role":"user","content":"hi"},`+
		searchCall+`c1","arguments":{"query":"x"}},`+searchOut+`c1","tools":[`+oneTool+`]},`+
		searchCall+`c2","arguments":{"query":"x"}},`+searchOut+`c2","tools":[`+twoTool+`]},`+
		`{"role":"developer","content":"Result of tool_search: Loaded: one, two"},`+
		searchCall+`c3","arguments":{"query":"x"}},`+searchOut+`c3","tools":[]},`+
		`{"role":"developer","content":"Result of tool_search: No tool matches."}]`)
	for name, o := range map[string]openai.Options{
		"an older model": {Options: modelhttp.Options{Model: "gpt-5.3",
			BaseURL: "https://api.openai.com/v1"}, API: openai.APIResponses},
		"unknown provider": {Options: modelhttp.Options{Model: "gpt-5.4",
			BaseURL: "https://llm.example.com/v1"}, API: openai.APIResponses},
		"switched off": {Options: modelhttp.Options{Model: "gpt-5.4",
			BaseURL: "https://api.openai.com/v1", DeferLoading: &off}, API: openai.APIResponses},
		"chat": {Options: modelhttp.Options{Model: "gpt-5.4",
			BaseURL: "https://api.openai.com/v1", DeferLoading: &on}},
	} {
		body, _ := send(t, o, searched())
		var tools []struct{ Type string }
		raw, err := json.Marshal(body["tools"])
		if err != nil || json.Unmarshal(raw, &tools) != nil || len(tools) != 5 {
			t.Errorf("%s: tools %s", name, raw)
		}
		for _, tool := range tools {
			if tool.Type != "function" {
				t.Errorf("%s: a tool of type %s", name, tool.Type)
			}
		}
	}
	body, _ = send(t, openai.Options{Options: modelhttp.Options{Model: "m",
		BaseURL: "https://llm.example.com/v1", DeferLoading: &on}, API: openai.APIResponses},
		searched())
	modeltest.Has(t, "switched on", body, "tools", `[`+readTool+`,`+ownSearch+`,`+threeTool+`]`)
}

// TestToolSearchCall checks that a search that the client must run becomes a call of tool_search,
// and that a search that the provider runs is ignored.
func TestToolSearchCall(t *testing.T) {
	reply := answer(t, openai.Options{API: openai.APIResponses}, events(
		`{"type":"response.output_item.added","output_index":0,"item":{`+
			`"type":"tool_search_call","id":"t1","call_id":"c1","execution":"client",`+
			`"status":"in_progress","arguments":{}}}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"tool_search_call",`+
			`"id":"t1","call_id":"c1","execution":"client","status":"completed","arguments":{`+
			`"query":"x"}}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"tool_search_call",`+
			`"id":"t2","call_id":null,"execution":"server","status":"completed","arguments":{`+
			`"paths":["a"]}}}`,
		`{"type":"response.completed","response":{"status":"completed"}}`))
	if got := summary(reply); got != `c1 tool_search{"query":"x"} stop=toolUse` {
		t.Error(got)
	}
}
