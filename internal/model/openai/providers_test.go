package openai_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// events returns an event stream with the given data.
func events(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

// TestProviderShapes decodes streams in the formats of real providers, written according to their
// documentation.
func TestProviderShapes(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		want         string // expected blocks, stop reason and usage
	}{
		{"OpenAI", events(
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4.1",`+
				`"service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,`+
				`"delta":{"role":"assistant","content":"","refusal":null},`+
				`"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x"}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4.1",`+
				`"choices":[{"index":0,"delta":{"content":"Hi"},`+
				`"logprobs":null,"finish_reason":null}],"usage":null}`,
			`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,`+
				`"id":"call_1","type":"function","function":{"name":"read","arguments":""}}]},`+
				`"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,`+
				`"function":{"arguments":"{\"path\":\"a\"}"}}]},"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,`+
				`"id":"call_2","type":"function","function":{"name":"read","arguments":"{}"}}]},`+
				`"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{},`+
				`"logprobs":null,"finish_reason":"tool_calls"}]}`,
			`{"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":100,`+
				`"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{`+
				`"cached_tokens":64,"audio_tokens":0},"completion_tokens_details":{`+
				`"reasoning_tokens":8,"audio_tokens":0}}}`,
			`[DONE]`), `text:Hi call_1 read{"path":"a"} call_2 read{} stop=toolUse in=100 ` +
			`out=20 cached=64 thought=8 total=120`},
		{"two calls of one id", events(
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c",`+
				`"type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c",`+
				`"type":"function","function":{"name":"read","arguments":"{\"path\":"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{`+
				`"arguments":"\"b\"}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			`c read{"path":"a"} c read{"path":"b"} stop=toolUse`},
		{"two calls of one id, the first without arguments", events(
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{`+
				`"name":"ls","arguments":"{}"}},{"index":1,"id":"c","function":{"name":"read",`+
				`"arguments":"{\"path\":\"b\"}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			`c ls{} c read{"path":"b"} stop=toolUse`},
		{"two calls of one id and one index", events(
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{`+
				`"name":"read","arguments":"{\"path\":\"a\"}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{`+
				`"name":"read","arguments":"{\"path\":\"b\"}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			`c read{"path":"a"} c read{"path":"b"} stop=toolUse`},
		{"empty arguments first", events(
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{`+
				`"name":"read","arguments":""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{`+
				`"arguments":"{\"a\":{\"b\":1}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{`+
				`"arguments":"}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			`c read{"a":{"b":1}} stop=toolUse`},
		{"Azure", events(
			`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{`+
				`"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,`+
				`"severity":"safe"}}}]}`,
			`{"choices":[{"content_filter_results":{},"delta":{"content":"","refusal":null,`+
				`"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"id":"c"}`,
			`{"choices":[{"content_filter_results":{"hate":{"filtered":false}},`+
				`"delta":{"content":"Hi"},"finish_reason":null,"index":0}]}`,
			`{"choices":[{"content_filter_offsets":{"check_offset":1},`+
				`"content_filter_results":{"hate":{"filtered":false}},`+
				`"finish_reason":null,"index":0}]}`,
			`{"choices":[{"content_filter_results":{},"delta":{},`+
				`"finish_reason":"stop","index":0}]}`, `[DONE]`), `text:Hi stop=stop`},
		{"Anthropic compatible", events(
			`{"id":"msg_1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}],`+
				`"created":1,"model":"claude-sonnet-4-5","object":"chat.completion.chunk"}`,
			`{"id":"msg_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,`+
				`"id":"toolu_1","type":"function","function":{"name":"read","arguments":""}}]}}]}`,
			`{"id":"msg_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{`+
				`"arguments":"{\"path\": "}}]}}]}`,
			`{"id":"msg_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{`+
				`"arguments":"\"a\"}"}}]}}]}`,
			`{"id":"msg_1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],`+
				`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`, `[DONE]`),
			`text:Hi toolu_1 read{"path": "a"} stop=toolUse in=10 out=5 total=15`},
		{"Gemini compatible", events(
			`{"choices":[{"delta":{"role":"assistant","tool_calls":[{"index":0,"extra_content":{`+
				`"google":{"thought_signature":"sig"}},`+
				`"function":{"arguments":"{\"path\":\"a\"}","name":"read"},`+
				`"id":"function-call-1","type":"function"}]},"index":0}],"created":1,"id":"g",`+
				`"model":"gemini-2.5-pro","object":"chat.completion.chunk"}`,
			`{"choices":[{"delta":{"role":"assistant","tool_calls":[{"index":0,"function":{`+
				`"arguments":"{\"path\":\"b\"}","name":"read"},`+
				`"id":"function-call-2","type":"function"}]},`+
				`"finish_reason":"tool_calls","index":0}],"usage":{"completion_tokens":9,`+
				`"prompt_tokens":7,"total_tokens":16}}`, `[DONE]`),
			`function-call-1 read{"path":"a"}+{"google":{"thought_signature":"sig"}} ` +
				`function-call-2 read{"path":"b"} stop=toolUse in=7 out=9 total=16`},
		{"OpenRouter", ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + events(
			`{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude",`+
				`"object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{`+
				`"role":"assistant","content":"","reasoning":"Hm","reasoning_details":[{`+
				`"type":"reasoning.text","text":"Hm","index":0,"format":"anthropic-claude-v1"}]}`+
				`,"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`,
			`{"id":"gen-1","choices":[{"index":0,"delta":{"content":"","reasoning":"m",`+
				`"reasoning_details":[{"type":"reasoning.text","text":"m","index":0},`+
				`{"type":"reasoning.text","signature":"S","index":0}]}}]}`,
			`{"id":"gen-1","choices":[{"index":0,"delta":{"content":"Hi"}}]}`,
			`{"id":"gen-1","choices":[{"index":0,"delta":{"content":""},`+
				`"finish_reason":"stop","native_finish_reason":"end_turn"}]}`,
			`{"id":"gen-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},`+
				`"finish_reason":null}],"usage":{"prompt_tokens":10,"completion_tokens":4,`+
				`"total_tokens":14,"cost":0.00014,"is_byok":false,"prompt_tokens_details":{`+
				`"cached_tokens":6,"cache_write_tokens":2},`+
				`"cost_details":{"upstream_inference_cost":null}}}`, `[DONE]`),
			`reasoning:Hmm+{"reasoning_details":[{"format":"anthropic-claude-v1","index":0,` +
				`"signature":"S","text":"Hmm","type":"reasoning.text"}]} text:Hi stop=stop ` +
				`in=10 out=4 cached=6 write=2 total=14 cost=0.00014`},
		{"Ollama", events(
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3",`+
				`"system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{`+
				`"role":"assistant","content":"","reasoning":"Hm"},"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant",`+
				`"content":"Hi"},"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":"",`+
				`"tool_calls":[{"id":"call_x","index":0,"type":"function","function":{`+
				`"name":"read","arguments":"{\"path\":\"a\"}"}}]},"finish_reason":"tool_calls"}]}`,
			`{"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,`+
				`"total_tokens":5}}`, `[DONE]`),
			`reasoning:Hm text:Hi call_x read{"path":"a"} stop=toolUse in=3 out=2 total=5`},
		{"llama-server", events(
			`{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant",`+
				`"content":null}}],"created":1,"id":"chatcmpl-1","model":"m",`+
				`"system_fingerprint":"b1","object":"chat.completion.chunk"}`,
			`{"choices":[{"finish_reason":null,"index":0,"delta":{"reasoning_content":"Hm"}}]}`,
			`{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Hi"}}]}`,
			`{"choices":[{"finish_reason":"stop","index":0,"delta":{}}]}`,
			`{"choices":[],"usage":{"completion_tokens":2,"prompt_tokens":3,"total_tokens":5},`+
				`"timings":{"prompt_n":3,"predicted_per_second":50.5}}`, `[`+
				`DONE]`), `reasoning:Hm text:Hi stop=stop in=3 out=2 total=5`},
		{"vLLM", events(
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m",`+
				`"choices":[{"index":0,"delta":{"role":"assistant","content":""},`+
				`"logprobs":null,"finish_reason":null}],"prompt_token_ids":null}`,
			`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{`+
				`"tool_calls":[{"id":"chatcmpl-tool-1","type":"function","index":0,"function":{`+
				`"name":"read"}}]},"logprobs":null,"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,`+
				`"function":{"arguments":"{\"path\": \"a\"}"}}]}}]}`,
			`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":""},`+
				`"logprobs":null,"finish_reason":"tool_calls","stop_reason":null}]}`,
			`{"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":3,"total_tokens":5,`+
				`"completion_tokens":2,"prompt_tokens_details":null}}`, `[`+
				`DONE]`), `chatcmpl-tool-1 read{"path": "a"} stop=toolUse in=3 out=2 total=5`},
		{"DeepSeek", events(
			`{"id":"1","object":"chat.completion.chunk","created":1,"model":"deepseek-reasoner",`+
				`"choices":[{"index":0,"delta":{"role":"assistant","content":null,`+
				`"reasoning_content":""},"logprobs":null,"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"Hm"},`+
				`"finish_reason":null}]}`, `{"id":"1","choices":[{"index":0,"delta":{`+
				`"content":"Hi","reasoning_content":null},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"content":"","reasoning_content":null},`+
				`"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,`+
				`"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},`+
				`"completion_tokens_details":{"reasoning_tokens":2},`+
				`"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":6}}`, `[DONE]`),
			`reasoning:Hm text:Hi stop=stop in=10 out=5 cached=4 thought=2 total=15`},
		{"Mistral", events(
			`{"id":"1","object":"chat.completion.chunk","created":1,"model":"magistral",`+
				`"choices":[{"index":0,"delta":{"role":"assistant",`+
				`"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]},`+
				`"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"content":[{"type":"text","text":"Hi"}]},`+
				`"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"content":"","tool_calls":[{`+
				`"id":"D681PevKs","function":{"name":"read","arguments":"{\"path\": \"a\"}"},`+
				`"index":0}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,`+
				`"total_tokens":5,"completion_tokens":2}}`, `[DONE]`),
			`reasoning:Hm text:Hi D681PevKs read{"path": "a"} stop=toolUse in=3 out=2 total=5`},
		{"Groq usage", events(`{"choices":[{"index":0,"delta":{"content":"Hi"},`+
			`"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":3,`+
			`"completion_tokens":2,"total_tokens":5}}}`, `[DONE]`), `text:Hi stop=stop in=3 ` +
			`out=2 total=5`},
		{"Moonshot usage", events(`{"choices":[{"index":0,"delta":{"content":"Hi"},`+
			`"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":2,`+
			`"total_tokens":5}}]}`, `[DONE]`), `text:Hi stop=stop in=3 out=2 total=5`},
		{"think tags", events(`{"choices":[{"delta":{"content":"<thi"}}]}`,
			`{"choices":[{"delta":{"content":"nk>\nHm</th"}}]}`,
			`{"choices":[{"delta":{"content":"ink>\n\nHi <think>"},"finish_reason":"stop"}]}`,
			`[DONE]`), "reasoning:\nHm text:Hi <think> stop=stop"},
		{"old function call", events(`{"choices":[{"delta":{"function_call":{"name":"read",`+
			`"arguments":"{\"pa"}}}]}`, `{"choices":[{"delta":{"function_call":{`+
			`"arguments":"th\":1}"}},"finish_reason":"function_call"}]}`, `[DONE]`), ` read{` +
			`"path":1} stop=toolUse`},
		{"LF, CRLF and no blank lines",
			"\xef\xbb\xbfdata:{\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"i\"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"!\"},\ndata: \"finish_reason\":\"stop\"}]}\n\ndata:[DONE]", `text:Hi! stop=stop`},
		{"CR alone", "id: 1\rdata: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\r\rretry: 5\rdata: [DONE]\r\r", `text:Hi stop=stop`},
		{"two choices", events(`{"choices":[{"index":1,"delta":{"content":"no"}},`+
			`{"index":0,"delta":{"content":"Hi"},`+
			`"finish_reason":"stop"}]}`, `[DONE]`), `text:Hi stop=stop`},
		{"copy of all in the last event",
			events(`{"choices":[{"delta":{"content":"Hi"}}]}`,
				`{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`, `[DONE]`),
			`text:Hi stop=stop`},
		{"odd types", events(`{"created":1.5,"choices":[{"index":"0","delta":{"content":"Hi"},`+
			`"finish_reason":"stop"}],"usage":{"prompt_tokens":3.0,"completion_tokens":2}}`, `[`+
			`DONE]`), `text:Hi stop=stop in=3 out=2 total=5`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := summary(answer(t, openai.Options{}, c.stream)); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestRefusal checks that a refusal becomes an error with the model's explanation.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		api  *modeltest.API
		body string
	}{
		{chatAPI, events(`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,`+
			`"refusal":"I can"}}]}`, `{"choices":[{"index":0,"delta":{"refusal":"not."}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`)},
		{responsesAPI, events(
			`{"type":"response.refusal.delta","output_index":0,"delta":"I can"}`,
			`{"type":"response.refusal.delta","output_index":0,"delta":"not."}`,
			`{"type":"response.completed","response":{"status":"completed","output":[]}}`)},
	} {
		m, _ := modeltest.Endpoint(t, c.api, "m", modeltest.Stream(c.body))
		_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
		var e *retry.Error
		if !errors.As(err, &e) || e.Kind != retry.ContentFilter ||
			e.Message != "m refused to answer: I cannot." {
			t.Errorf("%s: %v", c.body, err)
		}
	}
}

// summary describes a reply in one line.
func summary(r *agent.Reply) string {
	var list []string
	for _, b := range r.Message.Content {
		s := string(b.Type) + ":" + b.Text
		if b.Call != nil {
			s = b.Call.ID + " " + b.Call.Name + string(b.Call.Args)
		}
		if len(b.Opaque) > 0 {
			s += "+" + string(b.Opaque)
		}
		list = append(list, s)
	}
	list = append(list, "stop="+string(r.Message.Stop))
	if u := r.Message.Usage; u != nil {
		for _, n := range []struct {
			name string
			v    int
		}{{"in", u.Input}, {"out", u.Output}, {"cached", u.Cached}, {"write", u.CacheWrite},
			{"thought", u.Reasoning}, {"total", u.Total}} {
			if n.v != 0 {
				list = append(list, fmt.Sprintf("%s=%d", n.name, n.v))
			}
		}
		if u.Cost != 0 {
			list = append(list, fmt.Sprintf("cost=%g", u.Cost))
		}
	}
	return strings.Join(list, " ")
}

// TestResponsesAPI decodes streams and whole responses of the responses API.
func TestResponsesAPI(t *testing.T) {
	added := `{"type":"response.output_item.added","output_index":%d,"item":%s}`
	stream := events(
		`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1",`+
			`"object":"response","status":"in_progress","output":[]}}`,
		fmt.Sprintf(added, 0, `{"id":"rs_1","type":"reasoning","summary":[]}`),
		`{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,`+
			`"summary_index":0,"part":{"type":"summary_text","text":""}}`,
		`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,`+
			`"summary_index":0,"delta":"One"}`,
		`{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,`+
			`"summary_index":1}`,
		`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,`+
			`"summary_index":1,"delta":"Two"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1",`+
			`"type":"reasoning","summary":[],"encrypted_content":"enc"}}`,
		fmt.Sprintf(added, 1, `{"id":"msg_1","type":"message","status":"in_progress",`+
			`"role":"assistant","content":[]}`),
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,`+
			`"content_index":0,"delta":"Hi"}`,
		fmt.Sprintf(added, 2, `{"id":"fc_1","type":"function_call","status":"in_progress",`+
			`"arguments":"","call_id":"call_1","name":"read"}`),
		`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,`+
			`"delta":"{\"path\":"}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,`+
			`"delta":"\"a\"}"}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1",`+
			`"type":"function_call","arguments":"{\"path\":\"a\"}","call_id":"call_1",`+
			`"name":"read"}}`,
		`{"type":"response.completed","response":{"status":"completed",`+
			`"output":[{"type":"reasoning"},{"type":"message"},{"type":"function_call"}],`+
			`"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},`+
			`"output_tokens":5,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":15}}}`)
	const reasoning = `reasoning:One` + "\n\n" +
		`Two+{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"enc"}`
	whole := `{"id":"resp_1","object":"response","status":"incomplete","incomplete_details":{` +
		`"reason":"max_output_tokens"},"error":null,"output":[{"type":"message","id":"m",` +
		`"content":[{"type":"output_text","text":"Half"}]}],"usage":{"input_tokens":1,` +
		`"output_tokens":2,"total_tokens":3}}`
	for _, c := range []struct{ name, body, want string }{
		{"stream", stream, reasoning +
			` text:Hi call_1 read{"path":"a"} stop=toolUse in=10 out=5 cached=4 thought=2 ` +
			`total=15`},
		{"whole", whole, `text:Half stop=length in=1 out=2 total=3`},
		{"items at the end only", events(`{"type":"response.completed","response":{` +
			`"status":"completed","output":[{"type":"message","content":[{"type":"refusal",` +
			`"refusal":"No"}]},{"type":"function_call","call_id":"c","name":"read",` +
			`"arguments":"{}"}]}}`), `refusal:No c read{} stop=toolUse`},
	} {
		if got := summary(answer(t, openai.Options{API: openai.APIResponses},
			c.body)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	server := modeltest.NewProvider(t)
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m"},
		API: openai.APIResponses})
	defer m.Close()
	for body, want := range map[string]retry.Kind{
		events(`{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}`): retry.Truncated,
		events(`{"type":"response.failed","response":{"status":"failed","error":{` +
			`"code":"server_error","message":"x"}}` +
			`}`): retry.Transient,
		events(`{"type":"response.failed","response":{"status":"failed","error":{` +
			`"code":"rate_limit_exceeded","message":"x"}}` +
			`}`): retry.RateLimit,
		"event: error\n" + events(`{"type":"error","code":"context_length_exceeded",`+
			`"message":"Your input exceeds the context window",`+
			`"param":"input"}`): retry.ContextOverflow,
		events(`{"type":"error","code":"insufficient_quota","message":"x"}`): retry.Quota,
	} {
		server.Set(modeltest.Say(200, sse, body))
		_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
		if e := retry.As(err); e == nil || e.Kind != want {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
}
