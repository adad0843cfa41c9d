package oracle

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	ours "github.com/agent-lsp/agent-lsp/internal/model/openai"
)

const gpt = "gpt-5.1"

var (
	chatAPI = &modeltest.API{New: func(o modelhttp.Options) modeltest.Model {
		return ours.New(ours.Options{Options: o})
	}}
	responsesAPI = &modeltest.API{New: func(o modelhttp.Options) modeltest.Model {
		return ours.New(ours.Options{Options: o, API: ours.APIResponses})
	}}
)

// The streams contain the events in OpenAI's API reference, with a text and two calls.
const (
	chatStream = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[{"index":0,"delta":{"content":"I look."},"finish_reason":null}],"usage":null}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]},"finish_reason":null}],"usage":null}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]},"finish_reason":null}],"usage":null}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Paris\"}"}}]},"finish_reason":null}],"usage":null}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]},"finish_reason":null}],"usage":null}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":8}}}

data: [DONE]

`
	responsesStream = `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"r","object":"response","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"I look."}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[]}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":5,"output_index":1,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"call_1","name":"get_weather","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":6,"item_id":"fc_1","output_index":1,"delta":"{\"city\":\"Paris\"}"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":7,"output_index":1,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}

event: response.completed
data: {"type":"response.completed","sequence_number":8,"response":{"id":"r","object":"response","status":"completed","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[]}]},{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"get_weather","arguments":"{\"city\":\"Paris\"}"}],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":8},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":29}}}

`
)

func gptClient(w *wire) openai.Client {
	return openai.NewClient(option.WithAPIKey("k"),
		option.WithHTTPClient(&http.Client{Transport: w}))
}

func parameters() map[string]any {
	var p map[string]any
	_ = json.Unmarshal([]byte(schema), &p)
	return p
}

// chatReads streams params through the SDK and returns the accumulated completion.
func chatReads(t *testing.T, w *wire,
	params openai.ChatCompletionNewParams) *openai.ChatCompletion {
	t.Helper()
	client := gptClient(w)
	s := client.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		if !acc.AddChunk(s.Current()) {
			t.Fatalf("the SDK refuses %s", s.Current().RawJSON())
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return &acc.ChatCompletion
}

// TestChat checks that the adapter and the SDK decode the stream identically, and that their next
// requests in the conversation are equal.
func TestChat(t *testing.T) {
	first := generate(t, chatAPI.New(options(gpt, stream(chatStream))), modeltest.User("Weather?"))
	params := openai.ChatCompletionNewParams{
		Model:    gpt,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Weather?")},
	}
	theirs := chatReads(t, stream(chatStream), params)
	choice := theirs.Choices[0]
	want := reply{
		Text: choice.Message.Content, Stop: string(choice.FinishReason),
		Input: int(theirs.Usage.PromptTokens), Output: int(theirs.Usage.CompletionTokens),
		Cached: int(theirs.Usage.PromptTokensDetails.CachedTokens),
	}
	for _, c := range choice.Message.ToolCalls {
		want.call(c.ID, c.Function.Name, c.Function.Arguments)
	}
	same(t, "chat", read(first), want)

	w, sdk := stream(chatStream), stream(chatStream)
	generate(t, chatAPI.New(options(gpt, w)), request(first.Message))
	params.Messages = []openai.ChatCompletionMessageParamUnion{
		openai.SystemMessage("Be careful."), openai.UserMessage("Weather?"),
		choice.Message.ToParam(),
	}
	for _, c := range choice.Message.ToolCalls {
		params.Messages = append(params.Messages, openai.ToolMessage("sunny", c.ID))
	}
	params.Messages = append(params.Messages, openai.UserMessage("And now?"))
	params.Tools = []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "get_weather", Description: openai.String("weather"), Parameters: parameters(),
		}),
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	chatReads(t, sdk, params)
	equal(t, "chat", w.Body, sdk.Body)
}

// TestResponses checks that the adapter and the SDK decode the stream identically, and that their
// next requests in the conversation are equal.
func TestResponses(t *testing.T) {
	first := generate(t, responsesAPI.New(options(gpt, stream(responsesStream))),
		modeltest.User("Weather?"))
	user := func(text string) responses.ResponseInputItemUnionParam {
		return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
	}
	params := responses.ResponseNewParams{Model: gpt}
	params.Input.OfInputItemList = responses.ResponseInputParam{user("Weather?")}
	theirs := responsesRead(t, stream(responsesStream), params)
	want := reply{
		Text: theirs.OutputText(), Stop: string(theirs.Status),
		Input:  int(theirs.Usage.InputTokens),
		Output: int(theirs.Usage.OutputTokens),
		Cached: int(theirs.Usage.InputTokensDetails.CachedTokens),
	}
	input := params.Input.OfInputItemList
	var results responses.ResponseInputParam
	for _, item := range theirs.Output {
		switch item.Type {
		case "message":
			input = append(input, responses.ResponseInputItemParamOfMessage(
				item.Content[0].Text, responses.EasyInputMessageRoleAssistant))
		case "function_call":
			c := item.AsFunctionCall()
			want.call(c.CallID, c.Name, c.Arguments)
			input = append(input, responses.ResponseInputItemParamOfFunctionCall(c.Arguments,
				c.CallID, c.Name))
			out := responses.ResponseInputItemParamOfFunctionCallOutput("sunny")
			out.OfFunctionCallOutput.CallID = openai.String(c.CallID)
			results = append(results, out)
		}
	}
	same(t, "responses", read(first), want)

	w, sdk := stream(responsesStream), stream(responsesStream)
	generate(t, responsesAPI.New(options(gpt, w)), request(first.Message))
	params.Instructions = openai.String("Be careful.")
	params.Input.OfInputItemList = append(append(input, results...), user("And now?"))
	params.Tools = []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
		Name: "get_weather", Description: openai.String("weather"), Parameters: parameters(),
		Strict: openai.Bool(false),
	}}}
	params.Store = openai.Bool(false)
	params.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	responsesRead(t, sdk, params)
	equal(t, "responses", w.Body, sdk.Body)
}

// responsesRead streams params through the SDK and returns the final response.
func responsesRead(t *testing.T, w *wire, params responses.ResponseNewParams) *responses.Response {
	t.Helper()
	client := gptClient(w)
	s := client.Responses.NewStreaming(t.Context(), params)
	var out responses.Response
	for s.Next() {
		if e := s.Current(); e.Type == "response.completed" {
			out = e.Response
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return &out
}

// TestOpenAIRequests checks that requests with any history pass through the SDK's types without
// loss.
func TestOpenAIRequests(t *testing.T) {
	histories(t, chatAPI, gpt, chatStream, func(body []byte) error {
		return survives(body, &openai.ChatCompletionNewParams{})
	})
	histories(t, responsesAPI, gpt, responsesStream, responsesSurvives)
}

// responsesSurvives checks each item separately, because the SDK's union of items cannot decode a
// message without a type, which the API allows.
func responsesSurvives(body []byte) error {
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	items, _ := m["input"].([]any)
	for _, item := range items {
		var into any = &responses.EasyInputMessageParam{}
		switch item.(map[string]any)["type"] {
		case "reasoning": // sent back as the service sent it
			continue
		case "function_call":
			into = &responses.ResponseFunctionToolCallParam{}
		case "function_call_output":
			into = &responses.ResponseInputItemFunctionCallOutputParam{}
		case "apply_patch_call":
			into = &responses.ResponseInputItemApplyPatchCallParam{}
		case "apply_patch_call_output":
			into = &responses.ResponseInputItemApplyPatchCallOutputParam{}
		case "shell_call":
			into = &responses.ResponseInputItemShellCallParam{}
		case "shell_call_output":
			into = &responses.ResponseInputItemShellCallOutputParam{}
		}
		if err := survives(text(item), into); err != nil {
			return err
		}
	}
	delete(m, "input")
	return survives(text(m), &responses.ResponseNewParams{})
}

// TestNativeTools checks that the SDK decodes the documented items identically, and that the items
// and outputs sent back equal those that the SDK builds.
func TestNativeTools(t *testing.T) {
	answer := fixture(t, "openai/testdata/native.sse")
	native := func(w *wire) modeltest.Model {
		return ours.New(ours.Options{Options: options(gpt, w), API: ours.APIResponses,
			NativeTools: new(true)})
	}
	first := generate(t, native(stream(answer)), modeltest.User("Fix it."))
	theirs := responsesRead(t, stream(answer), responses.ResponseNewParams{Model: gpt})
	input := responses.ResponseInputParam{
		responses.ResponseInputItemParamOfMessage("Fix it.", responses.EasyInputMessageRoleUser),
	}
	var results responses.ResponseInputParam
	for _, item := range theirs.Output {
		switch item.Type {
		case "apply_patch_call":
			c := item.AsApplyPatchCall()
			var p responses.ResponseInputItemApplyPatchCallParam
			decode(t, c.RawJSON(), &p)
			input = append(input, responses.ResponseInputItemUnionParam{OfApplyPatchCall: &p})
			results = append(results, responses.ResponseInputItemUnionParam{
				OfApplyPatchCallOutput: &responses.ResponseInputItemApplyPatchCallOutputParam{
					CallID: c.CallID, Status: "completed", Output: openai.String("done"),
				},
			})
		case "shell_call":
			c := item.AsShellCall()
			var p responses.ResponseInputItemShellCallParam
			decode(t, c.RawJSON(), &p)
			input = append(input, responses.ResponseInputItemUnionParam{OfShellCall: &p})
			part := responses.ResponseFunctionShellCallOutputContentParam{Stdout: "done"}
			part.Outcome.OfExit = &responses.ResponseFunctionShellCallOutputContentOutcomeExitParam{ExitCode: 0}
			results = append(results, responses.ResponseInputItemUnionParam{
				OfShellCallOutput: &responses.ResponseInputItemShellCallOutputParam{
					CallID: c.CallID, MaxOutputLength: openai.Int(c.Action.MaxOutputLength),
					Output: []responses.ResponseFunctionShellCallOutputContentParam{part, part},
				},
			})
		}
	}
	req := modeltest.User("Fix it.")
	req.Tools = []agent.ToolSpec{{Name: "bash"}}
	req.Knows = func(string) bool { return true }
	req.Messages = append(req.Messages, first.Message)
	for _, c := range first.Message.ToolCalls() {
		req.Messages = append(req.Messages, modeltest.Result(c.ID, "done"))
	}
	w, sdk := stream(answer), stream(answer)
	generate(t, native(w), req)
	params := responses.ResponseNewParams{Model: gpt, Store: openai.Bool(false)}
	params.Input.OfInputItemList = append(input, results...)
	params.Tools = []responses.ToolUnionParam{
		{OfApplyPatch: &responses.ApplyPatchToolParam{}},
		{OfShell: &responses.FunctionShellToolParam{Environment: responses.FunctionShellToolEnvironmentUnionParam{
			OfLocal: &responses.LocalEnvironmentParam{},
		}}},
	}
	responsesRead(t, sdk, params)
	// Nothing is stored, so item IDs and the container are not sent back. The adapter's tools also
	// include the function bash.
	var body map[string]any
	if err := json.Unmarshal(w.Body, &body); err != nil {
		t.Fatal(err)
	}
	body["tools"] = body["tools"].([]any)[:2]
	equal(t, "native tools", text(body), sdk.Body, "id", "environment", "include")
	if err := responsesSurvives(w.Body); err != nil {
		t.Error(err)
	}
}

func decode(t *testing.T, raw string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), into); err != nil {
		t.Fatal(err)
	}
}
