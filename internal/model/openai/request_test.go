package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// wire answers every request without using the network. It records the header and body of the last
// request, and the number of bytes in all bodies.
type wire struct {
	body   []byte
	header http.Header
	answer string
	bytes  int
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.header = r.Header
	if r.Body != nil {
		w.body, _ = io.ReadAll(r.Body)
		w.bytes += len(w.body)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {sse}},
		Body: io.NopCloser(strings.NewReader(w.answer)), Request: r}, nil
}

// send sends a request and returns the request body and the reply.
func send(t *testing.T, opts openai.Options, req *agent.Request) (map[string]any, *agent.Reply) {
	t.Helper()
	w := &wire{answer: sound}
	if opts.API == openai.APIResponses {
		w.answer = events(`{"type":"response.completed","response":{"status":"completed",` +
			`"output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}}`)
	}
	opts.Transport = w
	m := openai.New(opts)
	defer m.Close()
	reply, err := m.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(w.body, &body); err != nil {
		t.Fatalf("the body is not JSON: %v\n%s", err, w.body)
	}
	return body, reply
}

// TestSamplingAndThinking checks which sampling parameters and thinking levels are sent to each
// model.
func TestSamplingAndThinking(t *testing.T) {
	all := agent.Sampling{MaxTokens: 100, Temperature: new(.5), TopP: .9, TopK: 40, MinP: .1,
		PresencePenalty: .2, RepetitionPenalty: 1.1}
	const openAI, azure, gemini, anthropic = "https://api.openai.com/v1",
		"https://x.openai.azure.com/openai/v1",
		"https://generativelanguage.googleapis.com/v1beta/openai", "https://api.anthropic.com/v1"
	for _, c := range []struct {
		name, base, model string
		sampling          agent.Sampling
		thinking          agent.Thinking
		want              map[string]string
	}{
		{"zero is omitted", "http://localhost:8080/v1", "m", agent.Sampling{}, agent.Thinking{},
			map[string]string{"temperature": "", "top_p": "", "top_k": "", "min_p": "",
				"presence_penalty": "", "repetition_penalty": "", "max_tokens": "",
				"reasoning_effort": "", "prompt_cache_key": ""}},
		{"zero temperature", "http://localhost:8080/v1", "m", agent.Sampling{Temperature: new(0.)},
			agent.Thinking{}, map[string]string{"temperature": "0", "top_p": ""}},
		{"all", "http://localhost:8080/v1", "m", all, agent.Thinking{},
			map[string]string{"temperature": "0.5", "top_k": "40", "min_p": "0.1",
				"repetition_penalty": "1.1", "presence_penalty": "0.2", "max_tokens": "100",
				"max_completion_tokens": ""}},
		{"OpenAI", openAI, "gpt-4.1", all, agent.Thinking{Level: "high"},
			map[string]string{"temperature": "0.5", "top_k": "", "min_p": "", "max_tokens": "",
				"max_completion_tokens": "100", "reasoning_effort": ""}},
		{"OpenAI reasoning", openAI, "gpt-5.1", all, agent.Thinking{Level: "high"},
			map[string]string{"temperature": "", "presence_penalty": "",
				"max_completion_tokens": "100", "reasoning_effort": `"high"`}},
		{"off is sent", openAI, "gpt-5.1", agent.Sampling{}, agent.Thinking{Level: "off"},
			map[string]string{"reasoning_effort": `"none"`}},
		{"o3 knows no off", openAI, "o3", agent.Sampling{}, agent.Thinking{Level: "off"},
			map[string]string{"reasoning_effort": `"low"`}},
		{"Azure", azure, "o4-mini", all, agent.Thinking{Level: "minimal"},
			map[string]string{"reasoning_effort": `"low"`, "max_completion_tokens": "100"}},
		{"Gemini", gemini, "gemini-2.5-pro", agent.Sampling{}, agent.Thinking{Level: "xhigh"},
			map[string]string{"reasoning_effort": `"high"`}},
		{"Gemini budget", gemini, "gemini-2.5-pro", agent.Sampling{},
			agent.Thinking{Level: "high", Budget: 5000},
			map[string]string{"reasoning_effort": "",
				"extra_body": `{"google":{"thinking_config":{"include_thoughts":true,` +
					`"thinking_budget":5000}}}`}},
		{"Anthropic", anthropic, "claude-sonnet-4-5", agent.Sampling{},
			agent.Thinking{Level: "medium"},
			map[string]string{"thinking": `{"type":"enabled","budget_tokens":8192}`,
				"max_tokens": "40192"}},
		{"Anthropic, more thought than fits", anthropic, "claude-opus-4-1", agent.Sampling{},
			agent.Thinking{Level: "xhigh"},
			map[string]string{"thinking": `{"type":"enabled","budget_tokens":30976}`,
				"max_tokens": "32000"}},
		{"Anthropic, no room for thought", anthropic, "claude-sonnet-4-5",
			agent.Sampling{MaxTokens: 1500}, agent.Thinking{Level: "low"},
			map[string]string{"thinking": "", "max_tokens": "1500"}},
		{"OpenRouter", "https://openrouter.ai/api/v1", "m", all, agent.Thinking{Level: "low"},
			map[string]string{"reasoning": `{"effort":"low"}`, "top_k": "40"}},
		{"OpenRouter off", "https://openrouter.ai/api/v1", "m", all, agent.Thinking{Level: "off"},
			map[string]string{"reasoning": `{"enabled":false}`}},
		{"DeepSeek", "https://api.deepseek.com", "deepseek-chat", agent.Sampling{},
			agent.Thinking{Level: "off"}, map[string]string{"thinking": `{"type":"disabled"}`}},
		{"vLLM", "http://localhost:8000/v1", "m", agent.Sampling{}, agent.Thinking{Level: "off"},
			map[string]string{"chat_template_kwargs": `{"enable_thinking":false}`}},
		{"Ollama", "http://localhost:11434/v1", "m", agent.Sampling{},
			agent.Thinking{Level: "high"}, map[string]string{"reasoning_effort": `"high"`}},
		{"Mistral", "https://api.mistral.ai/v1", "m", agent.Sampling{MaxTokens: 5},
			agent.Thinking{Level: "high"},
			map[string]string{"stream_options": "", "max_tokens": "5", "reasoning_effort": ""}},
	} {
		body, _ := send(t, openai.Options{Options: modelhttp.Options{BaseURL: c.base,
			Model: c.model}}, &agent.Request{Messages: modeltest.User("hi").Messages,
			Sampling: c.sampling, Thinking: c.thinking})
		for key, want := range c.want {
			modeltest.Has(t, c.name, body, key, want)
		}
	}
}

// TestOutputLimit checks that, if the user sets no output limit, one is derived from the model and
// the free part of the window, for providers that need it.
func TestOutputLimit(t *testing.T) {
	// This request is estimated at 125,000 tokens.
	long := &agent.Request{Messages: modeltest.User(strings.Repeat("word ", 100_000)).Messages}
	for _, c := range []struct {
		name string
		opts openai.Options
		req  *agent.Request
		key  string
		want string
	}{
		{"OpenAI counts it against the rate limit",
			openai.Options{Options: modelhttp.Options{Model: "gpt-4.1"}}, modeltest.User("hi"),
			"max_completion_tokens", ""},
		{"a model that is known", openai.Options{Options: modelhttp.Options{BaseURL: "https://llm.example.com/v1", Model: "claude-3-haiku"}}, modeltest.User("hi"), "max_tokens", "2048"},
		{"a model that says more than is derived",
			openai.Options{Options: modelhttp.Options{BaseURL: "https://openrouter.ai/api/v1",
				Model: "anthropic/claude-sonnet-4.5"}}, modeltest.User("hi"), "max_tokens",
			"32000"},
		{"DeepSeek's own is half of it",
			openai.Options{Options: modelhttp.Options{BaseURL: "https://api.deepseek.com/v1",
				Model: "deepseek-chat"}}, modeltest.User("hi"), "max_tokens", "8192"},
		{"a window that is nearly full",
			openai.Options{Options: modelhttp.Options{BaseURL: "http://localhost:11434/v1",
				Model: "m", ContextWindow: 170_000}}, long, "max_tokens", "3750"},
		{"a window that is full", openai.Options{Options: modelhttp.Options{BaseURL: "http://localhost:11434/v1", Model: "m", ContextWindow: 100_000}}, long, "max_tokens", "1024"},
		{"nothing known", openai.Options{Options: modelhttp.Options{BaseURL: "http://localhost:11434/v1", Model: "m"}}, modeltest.User("hi"), "max_tokens", ""},
		{"a local server takes what is free",
			openai.Options{Options: modelhttp.Options{BaseURL: "http://localhost:8000/v1",
				Model: "m", ContextWindow: 32768}}, modeltest.User("hi"), "max_tokens", ""},
		{"the responses API", openai.Options{Options: modelhttp.Options{BaseURL: "https://llm.example.com/v1", Model: "gpt-4o"}, API: openai.APIResponses}, modeltest.User("hi"), "max_output_tokens", "8192"},
	} {
		body, _ := send(t, c.opts, c.req)
		modeltest.Has(t, c.name, body, c.key, c.want)
	}
}

func TestChatRequest(t *testing.T) {
	req := &agent.Request{
		System:   []agent.SystemBlock{{Text: "You are", Cache: true}, {Text: "a tool"}},
		CacheKey: "s1", ToolChoice: "read",
		Tools: []agent.ToolSpec{{Name: "read", Description: "reads",
			Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "later", Deferred: true}},
		Messages: []*message.Message{message.NewText(message.RoleUser, "hi \xff\u2028"),
			modeltest.Calling("", "c1"), modeltest.Result("c1", ""),
			message.NewText(message.RoleAssistant, "half"),
			message.NewText(message.RoleAssistant, "rest"),
			{Role: message.RoleAssistant, Content: []message.Block{{Type: message.Reasoning,
				Text: "only"}}}, {Role: message.RoleUser, App: "note"}},
	}
	body, _ := send(t, openai.Options{Options: modelhttp.Options{Model: "gpt-4.1"}}, req)
	modeltest.Has(t, "chat", body, "messages", `[{"role":"system","content":"You are\n\na tool"}`+
		`,{"role":"user","content":"hi `+"\uFFFD\u2028"+`"},
		{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{`+
		`"name":"read","arguments":"{\"path\":\"a\"}"}}]},
		{"role":"tool","tool_call_id":"c1","content":""},{"role":"assistant","content":"half"},`+
		`{"role":"user","content":"Continue."},{"role":"assistant","content":"rest"}]`)
	modeltest.Has(t, "chat", body, "tools",
		`[{"type":"function","function":{"name":"read","description":"reads","parameters":{`+
			`"type":"object"}}},{"type":"function","function":{"name":"later","description":"",`+
			`"parameters":{"type":"object","properties":{}}}}]`)
	modeltest.Has(t, "chat", body, "tool_choice", `{"type":"function","function":{"name":"read"}}`)
	modeltest.Has(t, "chat", body, "prompt_cache_key", `"s1"`)
	modeltest.Has(t, "chat", body, "stream_options", `{"include_usage":true}`)
	body, _ = send(t, openai.Options{Options: modelhttp.Options{Model: "anthropic/claude-sonnet-4",
		BaseURL: "https://openrouter.ai/api/v1"}},
		&agent.Request{System: req.System, Messages: modeltest.User("x").Messages})
	modeltest.Has(t, "cache marks", body, "messages",
		`[{"role":"system","content":[{"type":"text","text":"You are","cache_control":{`+
			`"type":"ephemeral"}},{"type":"text","text":"a tool"}]},{"role":"user","content":"x"}]`)
	modeltest.Has(t, "no tools", body, "tools", "")
	for _, api := range []string{openai.APIChat, openai.APIResponses} {
		// A tool that was loaded by tool_search is sent in the list of tools.
		body, _ = send(t, openai.Options{Options: modelhttp.Options{Model: "gpt-4.1"}, API: api},
			req)
		if tools, _ := json.Marshal(body["tools"]); !strings.Contains(string(tools),
			`"name":"later"`) || strings.Contains(string(tools), "defer") {
			t.Errorf("%s: tools %s", api, tools)
		}
	}
}

func picture() *message.Message {
	return &message.Message{Role: message.RoleUser,
		Content: []message.Block{{Type: message.Text, Text: "see"},
			{Type: message.Image, MimeType: "image/png", Data: []byte("png")},
			{Type: message.Image, URL: "https://x/y.png"},
			{Type: message.File, Name: "a.pdf", MimeType: "application/pdf", Data: []byte("pdf")},
			{Type: message.Resource, URI: "file:///a.go", Text: "x", Range: &message.Range{}}}}
}

func TestImagesAndFiles(t *testing.T) {
	shot := modeltest.Result("c1", "taken")
	shot.Content = append(shot.Content,
		message.Block{Type: message.Image, MimeType: "image/png", Data: []byte("png")})
	two := modeltest.Calling("", "c1")
	two.Content = append(two.Content,
		message.Block{Type: message.ToolUse,
			Call: &message.ToolCall{ID: "c2", Name: "read", Args: json.RawMessage(`{}`)}})
	messages := []*message.Message{picture(), two, shot, modeltest.Result("c2", "y")}
	body, reply := send(t, openai.Options{Options: modelhttp.Options{Model: "gpt-4.1"}},
		&agent.Request{Messages: messages})
	modeltest.Has(t, "vision", body, "messages", `[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},{"type":"image_url","image_url":{"url":"https://x/y.png"}},
		{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"}},{"type":"text","text":"file:///a.go lines 1-1:\n`+"```\\nx\\n```"+`"}]},
		{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{`+
		`"name":"read","arguments":"{\"path\":\"a\"}"}},`+
		`{"id":"c2","type":"function","function":{"name":"read","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"taken"},`+
		`{"role":"tool","tool_call_id":"c2","content":"y"},
		{"role":"user","content":[{"type":"text","text":"Images of the result of read:"},`+
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}]`)
	if len(reply.Notices) != 0 {
		t.Errorf("notices %v", reply.Notices)
	}
	blind := false
	body, reply = send(t, openai.Options{Options: modelhttp.Options{Model: "gpt-4.1",
		Vision: &blind}}, &agent.Request{Messages: messages})
	if s := fmt.Sprint(body); strings.Contains(s, "image_url") ||
		!strings.Contains(s, "cannot see") || len(reply.Notices) != 1 {
		t.Errorf("a model without vision was sent %s with notices %v", s, reply.Notices)
	}
	body, _ = send(t, openai.Options{Options: modelhttp.Options{Model: "gpt-4.1"},
		API: openai.APIResponses}, &agent.Request{Messages: messages[:1]})
	modeltest.Has(t, "responses", body, "input", `[{"role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,cG5n"},{"type":"input_image","image_url":"https://x/y.png"},
		{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"},{"type":"input_text","text":"file:///a.go lines 1-1:\n`+"```\\nx\\n```"+`"}]}]`)
}

// TestReasoningReplay checks that reasoning is sent back only to the model that produced it.
func TestReasoningReplay(t *testing.T) {
	item := json.RawMessage(`{"type":"reasoning","id":"rs_1","encrypted_content":"enc",` +
		`"summary":[]}`)
	details := json.RawMessage(`{"reasoning_details":[{"type":"reasoning.text","text":"Hm"}]}`)
	with := func(opaque json.RawMessage, model string) *agent.Request {
		m := modeltest.Calling("", "c1")
		m.Content = append([]message.Block{{Type: message.Reasoning, Text: "Hm", Opaque: opaque}},
			m.Content...)
		m.Content[len(m.Content)-1].Opaque = json.RawMessage(`{"google":{"thought_signature":"S"}}`)
		m.Model = model
		return &agent.Request{Messages: []*message.Message{message.NewText(message.RoleUser, "hi"),
			m, modeltest.Result("c1", "x")}}
	}
	body, _ := send(t, openai.Options{Options: modelhttp.Options{Model: "gpt-5.1"},
		API: openai.APIResponses}, with(item, "gpt-5.1"))
	modeltest.Has(t, "responses", body, "input", `[{"role":"user","content":"hi"},`+string(item)+
		`,{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"path\":\"a\"}"},`+
		`{"type":"function_call_output","call_id":"c1","output":"x"}]`)
	modeltest.Has(t, "responses", body, "include", `["reasoning.encrypted_content"]`)
	for _, c := range []struct {
		name, base, made string
		opaque           json.RawMessage
		want             string
	}{
		{"OpenRouter", "https://openrouter.ai/api/v1", "m", details, "reasoning_details"},
		{"OpenRouter, another model's", "https://openrouter.ai/api/v1", "n", details, ""},
		{"DeepSeek", "https://api.deepseek.com", "m", nil, "reasoning_content"},
		{"Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "m", nil, ""},
		{"Gemini, another model's", "https://generativelanguage.googleapis.com/v1beta/openai", "n",
			nil, ""},
		{"a local server", "http://localhost:8000/v1", "m", nil, ""},
	} {
		body, _ := send(t, openai.Options{Options: modelhttp.Options{Model: "m", BaseURL: c.base}},
			with(c.opaque, c.made))
		s := fmt.Sprint(body)
		for _, word := range []string{"reasoning_details", "reasoning_content"} {
			if strings.Contains(s, word) != (word == c.want) {
				t.Errorf("%s: %s is sent %v", c.name, word, strings.Contains(s, word))
			}
		}
		if strings.Contains(s, "thought_signature") != (c.made == "m") {
			t.Errorf("%s: made by %s, and %s", c.name, c.made, s)
		}
	}
}

func TestModelWithoutTools(t *testing.T) {
	no := false
	req := &agent.Request{Tools: []agent.ToolSpec{{Name: "read", Description: "reads",
		Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []*message.Message{message.NewText(message.RoleUser, "hi"),
			modeltest.Calling("I read.", "c1"), modeltest.Result("c1", "text")}}
	for _, api := range []string{openai.APIChat, openai.APIResponses} {
		body, _ := send(t, openai.Options{Options: modelhttp.Options{Model: "m", Tools: &no},
			API: api}, req)
		modeltest.Has(t, api, body, "tools", "")
		s := fmt.Sprint(body)
		for _, want := range []string{"<tool_call>", `"name":"read","description":"reads"`,
			`{"name":"read","arguments":{"path":"a"}}`, "<tool_response name=\"read\">\ntext"} {
			if !strings.Contains(s, want) {
				t.Errorf("%s: %q is missing in %s", api, want, s)
			}
		}
	}
	must := *req
	must.ToolChoice = "required"
	m := openai.New(openai.Options{Options: modelhttp.Options{Model: "m", Tools: &no,
		Transport: &wire{answer: sound}}})
	defer m.Close()
	if _, err := m.Generate(t.Context(), &must, nil); retry.As(err) == nil ||
		retry.As(err).Kind != retry.Client {
		t.Errorf("got %v", err)
	}
}

func TestCost(t *testing.T) {
	stream := events(`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{`+
		`"prompt_tokens":1000000,"completion_tokens":1000000,"prompt_tokens_details":{`+
		`"cached_tokens":500000}}}`, "[DONE]")
	for _, c := range []struct {
		model  string
		prices map[string]catalog.Price
		want   float64
	}{{"gpt-4.1", nil, 1 + .25 + 8}, {"openai/gpt-4.1-2025-04-14", nil, 9.25}, {"unknown", nil, 0},
		{"gpt-4.1", map[string]catalog.Price{"gpt-4.1": {Input: 1, Output: 1}}, 2}} {
		u := answer(t, openai.Options{Options: modelhttp.Options{Model: c.model, Prices: c.prices}},
			stream).Message.Usage
		if d := u.Cost - c.want; d > 1e-9 || d < -1e-9 || u.CostEstimated != (c.want > 0) {
			t.Errorf("%s: cost %v, estimated %v, want %v", c.model, u.Cost, u.CostEstimated, c.want)
		}
	}
}

// A cost that the provider reports is divided in proportion to the known prices or, if the prices
// are unknown, to the tokens.
func TestReportedCostIsDivided(t *testing.T) {
	stream := events(`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{`+
		`"prompt_tokens":1000000,"completion_tokens":1000000,"cost":18.5,"prompt_tokens_details":{`+
		`"cached_tokens":500000}}}`, "[DONE]")
	for model, want := range map[string]message.Costs{
		"gpt-4.1": {Input: 2, Output: 16, CacheRead: .5},
		"unknown": {Input: 4.625, Output: 9.25, CacheRead: 4.625},
	} {
		reply := answer(t, openai.Options{Options: modelhttp.Options{Model: model}}, stream)
		u := reply.Message.Usage
		got := u.Costs
		for _, d := range []float64{u.Cost - 18.5, got.Input - want.Input, got.Output - want.Output,
			got.CacheRead - want.CacheRead, got.CacheWrite - want.CacheWrite} {
			if d > 1e-9 || d < -1e-9 || u.CostEstimated {
				t.Errorf("%s: %+v, estimated %v, want %+v", model, got, u.CostEstimated, want)
			}
		}
	}
}

func TestContextWindow(t *testing.T) {
	for model, want := range map[string]int{"gpt-4.1": 1047576, "gpt-4": 0, "gpt-3.5-turbo": 16385,
		"gpt-4o-2024-08-06": 128000, "anthropic/claude-sonnet-4.5": 200000, "o1-preview": 200000,
		"o10": 0, "gpt-5.2": 400000, "mystery": 0, "GPT-4.1-MINI": 1047576} {
		if got := openai.ContextWindow(model); got != want {
			t.Errorf("ContextWindow(%s) = %d, want %d", model, got, want)
		}
	}
}

// The table of thinking levels contains only entries that the catalog lacks or has wrong.
func TestEffortsOfTheCatalogAreNotRepeated(t *testing.T) {
	if ids := openai.SuperfluousEfforts(); len(ids) > 0 {
		t.Errorf("the catalog has the same levels for %s: remove them from efforts", ids)
	}
}

func TestModelListOfProviders(t *testing.T) {
	body := "{\"object\":\"list\",\n\"data\":[{\"id\":\"a\",\"created\":1.5,\"max_model_len\":4096},{\"id\":\"b\",\"name\":\"Bee\",\"context_length\":\"8192\",\"architecture\":{\"input_modalities\":[\"text\",\"image\"]},\"supported_parameters\":[\"temperature\"]},{\"id\":\"c\",\"meta\":{\"n_ctx_train\":1048576}},{\"id\":\"gpt-4.1\"}]}"
	server := modeltest.NewProvider(t)
	server.Set(modeltest.Say(200, "application/json", body))
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL}})
	defer m.Close()
	list, err := m.Models(t.Context())
	if err != nil || len(list) != 4 {
		t.Fatalf("got %v, %v", list, err)
	}
	if list[1].Name != "Bee" {
		t.Errorf("the name is %q", list[1].Name)
	}
	if list[0].ContextWindow != 4096 || list[1].ContextWindow != 8192 || !*list[1].Vision ||
		*list[1].Tools || list[2].ContextWindow != 1048576 || list[3].ContextWindow != 1047576 {
		t.Errorf("got %+v", list)
	}
	server.Set(modeltest.Say(401, "application/json", `{"error":{"message":"no"}}`))
	if _, err := m.Models(t.Context()); retry.As(err) == nil || retry.As(err).Kind != retry.Auth {
		t.Errorf("got %v", err)
	}
}

// history returns the messages of a long session.
func history(n int) []*message.Message {
	list := make([]*message.Message, 0, n)
	for i := 0; len(list) < n; i++ {
		id := fmt.Sprintf("c%d", i)
		list = append(list, message.NewText(message.RoleUser,
			"Please look at the next file, number "+id+"."), modeltest.Calling("I look.", id),
			modeltest.Result(id, strings.Repeat("func main() { fmt.Println(\"x\") }\n", 60)),
			message.NewText(message.RoleAssistant, "It prints x."))
	}
	return list[:n]
}

// TestHistoryIsEncodedOnce checks that a second request with one more message encodes only that
// message.
func TestHistoryIsEncodedOnce(t *testing.T) {
	w := &wire{answer: sound}
	m := openai.New(openai.Options{Options: modelhttp.Options{Model: "m", Transport: w}})
	defer m.Close()
	messages := history(1001)
	run := func(list []*message.Message) {
		if _, err := m.Generate(t.Context(), &agent.Request{Messages: list}, nil); err != nil {
			t.Fatal(err)
		}
	}
	run(messages[:1000])
	cold := testing.AllocsPerRun(1, func() { run(history(1000)) })
	warm := testing.AllocsPerRun(3, func() { run(messages) })
	if warm > 300 || warm*10 > cold {
		t.Errorf("%v allocations with a warm history, %v with a cold one", warm, cold)
	}
}

func BenchmarkEncode1000Messages(b *testing.B) {
	w := &wire{answer: sound}
	m := openai.New(openai.Options{Options: modelhttp.Options{Model: "m", Transport: discard{w}}})
	defer m.Close()
	req := &agent.Request{Messages: history(1000)}
	_, _ = m.Generate(b.Context(), req, nil)
	for b.Loop() {
		if _, err := m.Generate(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// discard is a transport that does not read the request. A benchmark that uses it measures only the
// building of the request.
type discard struct{ w *wire }

func (d discard) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(d.w.answer)), Request: r}, nil
}

func BenchmarkStreamDecode(b *testing.B) {
	const deltas = 10000
	var s strings.Builder
	for range deltas {
		s.WriteString(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,` +
			`"model":"m","choices":[{"index":0,"delta":{"content":" token"},` +
			`"logprobs":null,"finish_reason":null}]}` + "\n\n")
	}
	s.WriteString(lastPart + done)
	m := openai.New(openai.Options{Options: modelhttp.Options{Model: "m",
		Transport: discard{&wire{answer: s.String()}}}})
	defer m.Close()
	n := 0
	begin := time.Now()
	for b.Loop() {
		if _, err := m.Generate(b.Context(), modeltest.User("hi"),
			func(agent.Delta) { n++ }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/time.Since(begin).Seconds(), "deltas/s")
}

// TestReasoningGoesRound checks that reasoning from the responses API is sent back unchanged and
// before the call that it led to, even after the session was stored and loaded.
func TestReasoningGoesRound(t *testing.T) {
	const item = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text",` +
		`"text":"Hm."}],"encrypted_content":"b64=="}`
	w := &wire{answer: events(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning",`+
			`"id":"rs_1","summary":[]}}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Hm."}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+item+`}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call",`+
			`"id":"fc_1","call_id":"c1","name":"read","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","output_index":1,`+
			`"delta":"{\"path\":\"a\"}"}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call",`+
			`"id":"fc_1","call_id":"c1","name":"read","arguments":"{\"path\":\"a\"}"}}`,
		`{"type":"response.completed","response":{"status":"completed","usage":{`+
			`"input_tokens":5,"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3}}}}`)}
	m := openai.New(openai.Options{Options: modelhttp.Options{Model: "gpt-5.1", Transport: w},
		API: openai.APIResponses})
	defer m.Close()
	first := modeltest.User("hi")
	reply, err := m.Generate(t.Context(), first, nil)
	if err != nil {
		t.Fatal(err)
	}
	if u := reply.Message.Usage; u == nil || u.Reasoning != 3 ||
		reply.Message.Stop != message.StopToolUse {
		t.Errorf("reply %+v", reply.Message)
	}
	stored, err := json.Marshal(reply.Message)
	if err != nil {
		t.Fatal(err)
	}
	var again message.Message
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatal(err)
	}
	body, _ := send(t, openai.Options{Options: modelhttp.Options{Model: "gpt-5.1"},
		API: openai.APIResponses}, &agent.Request{Messages: append(first.Messages, &again,
		modeltest.Result("c1", "x"))})
	modeltest.Has(t, "the second call", body, "input", `[{"role":"user","content":"hi"},`+item+
		`,{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"path\":\"a\"}"},`+
		`{"type":"function_call_output","call_id":"c1","output":"x"}]`)
	body, _ = send(t, openai.Options{Options: modelhttp.Options{Model: "gpt-5-mini"},
		API: openai.APIResponses}, &agent.Request{Messages: append(first.Messages, &again,
		modeltest.Result("c1", "x"))})
	modeltest.Has(t, "another model", body, "input",
		`[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c1","name":"read",`+
			`"arguments":"{\"path\":\"a\"}"},{"type":"function_call_output","call_id":"c1",`+
			`"output":"x"}]`)
}

// TestSystemMessageIsTextOnly checks that a system message sent to the chat API contains only text.
// A system message with an image is sent as a user message.
func TestSystemMessageIsTextOnly(t *testing.T) {
	note := message.NewText(message.RoleSystem, "note")
	seen := message.NewText(message.RoleSystem, "see")
	seen.Content = append(seen.Content,
		message.Block{Type: message.Image, MimeType: "image/png", Data: []byte("png")})
	req := &agent.Request{Messages: []*message.Message{note, seen}}
	body, _ := send(t, openai.Options{Options: modelhttp.Options{Model: "gpt-5.1"}}, req)
	modeltest.Has(t, "chat", body, "messages", `[{"role":"system","content":"note"},
		{"role":"user","content":[{"type":"text","text":"see"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}]`)
}
