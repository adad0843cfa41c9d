package openai_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// nativeAPI describes the responses API with native tools.
var nativeAPI = &modeltest.API{
	New: func(o modelhttp.Options) modeltest.Model {
		return openai.New(openai.Options{
			Options: o, API: openai.APIResponses, NativeTools: new(true),
		})
	},
	Text: itemText, Rest: itemRest, End: completed, Call: itemCall, Whole: document,
}

var (
	someTools = []agent.ToolSpec{
		{Name: "read", Description: "Reads."},
		{Name: "tool_search", Description: "Finds."},
		{Name: "bash", Description: "Runs.", Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "apply_patch", Description: "Patches.", Deferred: true},
	}
	nativeList = `{"type":"apply_patch"},{"type":"shell","environment":{"type":"local"}},`
)

func nativeStream(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/native.sse")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const (
	updateArgs = `{"patch":"*** Begin Patch\n*** Update File: lib/a.go\n@@\n-  old \"line\"\n` +
		`+  neu é\n\n*** End Patch"}`
	deleteArgs  = `{"patch":"*** Begin Patch\n*** Delete File: old.txt\n*** End Patch"}`
	nativeCalls = `call_p apply_patch` + updateArgs + `+{"openaiItem":"apply_patch_call",` +
		`"operation":"update_file"} ` +
		`call_d apply_patch` + deleteArgs + `+{"openaiItem":"apply_patch_call",` +
		`"operation":"delete_file"} ` +
		`call_s bash{"command":"go test ./...","timeout":30}+{"openaiItem":"shell_call",` +
		`"timeoutMs":30000,"maxOutput":12} ` +
		`call_s_2 bash{"command":"git status","timeout":30}+{"openaiItem":"shell_call",` +
		`"part":1,"timeoutMs":30000,"maxOutput":12} ` +
		`stop=toolUse in=20 out=9 cached=8 total=29`
)

// TestNativeCalls checks that the documented items become calls of agent-lsp's tools, even if the
// items appear only in the final response. It also checks that the calls shown while streaming
// match the final calls.
func TestNativeCalls(t *testing.T) {
	stream := nativeStream(t)
	last := stream[strings.Index(stream, "event: response.completed"):]
	for name, body := range map[string]string{"streamed": stream, "whole": last} {
		shown := map[string]string{}
		server := modeltest.NewProvider(t)
		server.Set(modeltest.Say(200, sse, body))
		m := nativeAPI.New(modelhttp.Options{BaseURL: server.URL, Model: "m"})
		on := func(d agent.Delta) { shown[d.CallID] += d.Text }
		reply, err := m.Generate(t.Context(), modeltest.User("hi"), on)
		m.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := summary(reply); got != nativeCalls {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, nativeCalls)
		}
		for _, c := range reply.Message.ToolCalls() {
			if shown[c.ID] != string(c.Args) {
				t.Errorf("%s: %s is shown as %s", name, c.ID, shown[c.ID])
			}
		}
	}
}

// TestUnfinishedNativeCalls checks three cases: an item that is cut off at the output limit becomes
// a call with a problem, an unknown operation becomes a call without arguments, and a reply with
// too many commands becomes an error.
func TestUnfinishedNativeCalls(t *testing.T) {
	o := openai.Options{API: openai.APIResponses}
	reply := answer(t, o, events(
		`{"type":"response.output_item.added","output_index":0,`+
			`"item":{"type":"apply_patch_call","call_id":"c1","status":"in_progress",`+
			`"operation":{"type":"create_file","path":"a","diff":""}}}`,
		`{"type":"response.apply_patch_call_operation_diff.delta","output_index":0,`+
			`"delta":"+half"}`,
		`{"type":"response.incomplete","response":{"status":"incomplete",`+
			`"incomplete_details":{"reason":"max_output_tokens"},`+
			`"output":[{"type":"apply_patch_call","call_id":"c1","status":"incomplete",`+
			`"operation":{"type":"create_file","path":"a","diff":"+half"}}]}}`))
	c := reply.Message.ToolCalls()
	if len(c) != 1 || c[0].Problem == "" || !strings.Contains(c[0].Raw, "+half") {
		t.Errorf("cut off: %s", summary(reply))
	}
	reply = answer(t, o, events(
		`{"type":"response.output_item.done","output_index":0,`+
			`"item":{"type":"apply_patch_call","call_id":"c1","status":"completed",`+
			`"operation":{"type":"rename_file","path":"a"}}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"shell_call",`+
			`"call_id":"c2","status":"completed","action":{"commands":[]}}}`,
		`{"type":"response.completed","response":{"status":"completed"}}`))
	if got := summary(reply); got != `c1 apply_patch{} c2 bash{"command":""}+{"openaiItem":"sh`+
		`ell_call"} stop=toolUse` {
		t.Error(got)
	}
	many := `{"type":"response.output_item.done","output_index":0,"item":{"type":"shell_call",` +
		`"call_id":"c","status":"completed","action":{"commands":[` +
		strings.Repeat(`"x",`, 5000) + `"x"]}}}`
	server := modeltest.NewProvider(t)
	server.Set(modeltest.Say(200, sse, events(many)))
	m := nativeAPI.New(modelhttp.Options{BaseURL: server.URL, Model: "m"})
	defer m.Close()
	if _, err := m.Generate(t.Context(), modeltest.User("hi"), nil); err == nil ||
		!strings.Contains(err.Error(), "tool calls") {
		t.Errorf("5001 commands: %v", err)
	}
}

// TestNativeHistory checks that calls are sent back as the native items that they came from, even
// after a restart and in a fork. They are sent back as function calls if the tools are not native
// or the arguments were shortened.
func TestNativeHistory(t *testing.T) {
	first := answer(t, openai.Options{API: openai.APIResponses}, nativeStream(t))
	req := modeltest.User("hi")
	req.Tools = someTools
	req.Messages = append(req.Messages, first.Message)
	results := []*message.Message{
		modeltest.Result("call_p", "Applied."),
		modeltest.Result("call_d", "It does not exist."),
		modeltest.Result("call_s", "ok everything passes"), modeltest.Result("call_s_2", "Denied."),
	}
	results[1].IsError, results[3].IsError = true, true
	results[2].Details = json.RawMessage(`{"exitCode":3}`)
	req.Messages = append(req.Messages, results...)
	const want = `[{"role":"user","content":"hi"},` +
		`{"type":"apply_patch_call","status":"completed","call_id":"call_p",` +
		`"operation":{"type":"update_file","path":"lib/a.go",` +
		`"diff":"@@\n-  old \"line\"\n+  neu é\n"}},` +
		`{"type":"apply_patch_call","status":"completed","call_id":"call_d",` +
		`"operation":{"type":"delete_file","path":"old.txt"}},` +
		`{"type":"shell_call","status":"completed","call_id":"call_s",` +
		`"action":{"commands":["go test ./...","git status"],"timeout_ms":30000,` +
		`"max_output_length":12}},` +
		`{"type":"apply_patch_call_output","call_id":"call_p","status":"completed",` +
		`"output":"Applied."},` +
		`{"type":"apply_patch_call_output","call_id":"call_d","status":"failed",` +
		`"output":"It does not exist."},` +
		`{"type":"shell_call_output","call_id":"call_s","max_output_length":12,"output":[` +
		`{"stdout":"ok\n[...]\nses","stderr":"","outcome":{"type":"exit","exit_code":3}},` +
		`{"stdout":"","stderr":"Denied.","outcome":{"type":"exit","exit_code":1}}]}]`
	native := openai.Options{Options: modelhttp.Options{Model: "gpt-5.1"}, API: openai.APIResponses}
	again := modeltest.Restarted(t, req)
	for name, r := range map[string]*agent.Request{"the same": req, "restarted": again} {
		body, _ := send(t, native, r)
		modeltest.Has(t, name, body, "input", want)
		modeltest.Has(t, name, body, "tools", `[`+nativeList+
			`{"type":"function","strict":false,"name":"read","description":"Reads.",`+
			`"parameters":{"type":"object","properties":{}}},`+
			`{"type":"function","strict":false,"name":"tool_search","description":"Finds.",`+
			`"parameters":{"type":"object","properties":{}}},`+
			`{"type":"function","strict":false,"name":"bash","description":"Runs.",`+
			`"parameters":{"type":"object"}}]`)
	}
	cut := modeltest.Restarted(t, req)
	cut.Messages[1].Content[0].Call.Args = json.RawMessage(`{"patch":"*** Begin ... Patch"}`)
	cut.Messages[1].Content[3].Call.Args = json.RawMessage(`{"command":["git"]}`)
	body, _ := send(t, native, cut)
	if got := types(body); got != "- function_call apply_patch_call function_call function_call function_call_output apply_patch_call_output function_call_output function_call_output" {
		t.Errorf("shortened arguments: %s", got)
	}
	const api = openai.APIResponses
	off := new(false)
	for name, o := range map[string]openai.Options{
		"an older model": {Options: modelhttp.Options{Model: "gpt-5"}, API: api},
		"a codex model":  {Options: modelhttp.Options{Model: "gpt-5.1-codex"}, API: api},
		"elsewhere": {Options: modelhttp.Options{Model: "gpt-5.1",
			BaseURL: "https://llm.example.com/v1"}, API: openai.APIResponses},
		"off": {
			Options: modelhttp.Options{Model: "gpt-5.1"}, API: api, NativeTools: off,
		},
	} {
		body, _ := send(t, o, req)
		calls := strings.Repeat(" function_call", 4)
		outputs := strings.Repeat(" function_call_output", 4)
		if got := types(body); got != "-"+calls+outputs {
			t.Errorf("%s: %s", name, got)
		}
	}
	chat := openai.Options{Options: modelhttp.Options{Model: "m"}} // the model that replied
	body, _ = send(t, chat, req)
	if b, _ := json.Marshal(body); strings.Contains(string(b), "openaiItem") {
		t.Errorf("the chat API received %s", b)
	}
}

// types returns the types of the items in a request.
func types(body map[string]any) string {
	var list []string
	for _, item := range body["input"].([]any) {
		name, _ := item.(map[string]any)["type"].(string)
		if name == "" {
			name = "-"
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

// TestNativeToolsOfARequest checks that a native tool is listed if the session has that tool, even
// if it is not loaded yet.
func TestNativeToolsOfARequest(t *testing.T) {
	o := openai.Options{Options: modelhttp.Options{Model: "gpt-5.2"}, API: openai.APIResponses}
	for _, c := range []struct {
		tools []agent.ToolSpec
		knows string
		want  string
	}{
		{someTools[:1], "", "function"},
		{someTools[:1], "apply_patch", "apply_patch function"},
		{someTools[2:3], "", "shell function"},
		{nil, "apply_patch", ""},
	} {
		req := modeltest.User("hi")
		req.Tools, req.Knows = c.tools, func(name string) bool { return name == c.knows }
		body, _ := send(t, o, req)
		var list []string
		tools, _ := body["tools"].([]any)
		for _, tool := range tools {
			list = append(list, tool.(map[string]any)["type"].(string))
		}
		if got := strings.Join(list, " "); got != c.want {
			t.Errorf("%d tools, %q: %q, want %q", len(c.tools), c.knows, got, c.want)
		}
	}
	req := modeltest.User("hi")
	req.Tools, req.ToolChoice = someTools, "apply_patch"
	body, _ := send(t, o, req)
	modeltest.Has(t, "choice", body, "tool_choice", `{"type":"apply_patch"}`)
}

// TestAnyHistoryIsValid checks that any history results in a valid request, for the responses API
// (with and without native tools) and for the chat API.
func TestAnyHistoryIsValid(t *testing.T) {
	native := answer(t, openai.Options{API: openai.APIResponses}, nativeStream(t)).Message
	apis := map[string]*modeltest.API{
		"native": nativeAPI, "responses": responsesAPI, "chat": chatAPI,
	}
	for name, a := range apis {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			items := 0
			modeltest.CheckAnyHistory(t, a, &modeltest.Histories{
				Model:   "gpt-5.4",
				Runs:    200,
				Authors: []string{"gpt-5.4", "claude-opus-4-7", "script"},
				Models:  []string{"", "gpt-5.1", "other"},
				Tools:   [][]agent.ToolSpec{nil, someTools[:1], someTools[:2], someTools},
				Lines:   []string{`{"reasoning":"mine","text":"x"}`},
				Vary: func(r *rand.Rand, req *agent.Request) {
					knows := r.IntN(2) == 0
					req.Knows = func(string) bool { return knows }
					if r.IntN(3) == 0 {
						req.Messages = append(req.Messages, nativeStep(t, r, native)...)
						items++
					}
					req.Messages = alternating(req.Messages)
				},
			})
			if items < 50 {
				t.Errorf("%d histories with native items", items)
			}
		})
	}
}

// nativeStep returns a reply with native items, followed by their results. An item may be missing
// or shortened.
func nativeStep(t *testing.T, r *rand.Rand, native *message.Message) []*message.Message {
	reply := modeltest.Stored(t, native)
	out := []*message.Message{reply}
	if r.IntN(3) == 0 {
		at := r.IntN(len(reply.Content))
		reply.Content = slices.Delete(reply.Content, at, at+1)
	}
	for _, c := range reply.ToolCalls() {
		if c.ID += "_" + strconv.Itoa(r.Int()); r.IntN(5) == 0 {
			c.Args = json.RawMessage(`{"patch":"x","command":7}`)
		}
		m := modeltest.Result(c.ID, "done")
		m.Name, m.IsError = c.Name, r.IntN(3) == 0
		out = append(out, m)
	}
	return out
}

// alternating returns a history as the engine sends it: with a user message at the beginning, at
// the end and between two replies, and without empty messages.
func alternating(history []*message.Message) []*message.Message {
	user := message.NewText(message.RoleUser, "go on")
	out := []*message.Message{user}
	replied := false // whether only system messages have followed the last reply
	for _, m := range history {
		switch {
		case modelhttp.Skipped(m):
			continue
		case m.Role == message.RoleAssistant:
			if replied {
				out = append(out, user)
			}
			replied = true
		case m.Role != message.RoleSystem:
			replied = false
		}
		out = append(out, m)
	}
	return append(out, user)
}
