package anthropic_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/anthropic"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/script"
)

// send sends a request and returns the request body and the reply.
func send(t *testing.T, model string, req *agent.Request) (map[string]any, *agent.Reply) {
	t.Helper()
	w := &modeltest.Wire{Answer: stopped("end_turn")}
	return modeltest.Body(t, anthropic.New(modelhttp.Options{Model: model, Transport: w}), w, req)
}

// TestAddress checks that the base URL may include the version, and that the key is sent in the
// header that the endpoint expects.
func TestAddress(t *testing.T) {
	for base, want := range map[string]string{
		"":                                  "https://api.anthropic.com/v1/messages k ",
		"https://api.anthropic.com/v1/":     "https://api.anthropic.com/v1/messages k ",
		"https://llm.example.com/anthropic": "https://llm.example.com/anthropic/v1/messages k ",
		"https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic": "https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic/v1/messages  Bearer k",
		"https://aiplatform.googleapis.com/v1":                      "https://aiplatform.googleapis.com/v1/messages  Bearer k",
	} {
		w := &modeltest.Wire{Answer: stopped("end_turn")}
		m := anthropic.New(
			modelhttp.Options{BaseURL: base, Model: "m", Transport: w, Key: modeltest.KeyOf("k")},
		)
		if _, err := m.Generate(t.Context(), modeltest.User("hi"), nil); err != nil {
			t.Fatal(err)
		}
		if got := w.URL + " " + w.Header.Get(
			"X-Api-Key",
		) + " " + w.Header.Get(
			"Authorization",
		); got != want ||
			w.Header.Get("Anthropic-Version") != "2023-06-01" {
			t.Errorf("%s: %s, want %s; %v", base, got, want, w.Header)
		}
		_ = m.Close()
	}
}

// TestThinkingAndSampling checks which parameters each model generation receives for a thinking
// level, and which are omitted with a notice.
func TestThinkingAndSampling(t *testing.T) {
	warm := agent.Sampling{Temperature: new(.5), TopP: .9, TopK: 40}
	for _, c := range []struct {
		model    string
		thinking agent.Thinking
		sampling agent.Sampling
		choice   string
		want     map[string]string
		notices  int
	}{
		{"claude-sonnet-4-5", agent.Thinking{}, agent.Sampling{}, "",
			map[string]string{"thinking": "", "max_tokens": "32000", "output_config": ""}, 0},
		{"claude-sonnet-4-5-20250929", agent.Thinking{Level: "medium"}, agent.Sampling{}, "",
			map[string]string{"thinking": `{"type":"enabled","budget_tokens":8192}`,
				"max_tokens": "40192"}, 0},
		{"claude-opus-4-20250514", agent.Thinking{Level: "high", Budget: 5000}, agent.Sampling{},
			"", map[string]string{"thinking": `{"type":"enabled","budget_tokens":5000}`}, 0},
		{"anthropic.claude-opus-4-6-v1:0", agent.Thinking{Level: "xhigh"}, agent.Sampling{}, "",
			map[string]string{"thinking": `{"type":"adaptive","display":"summarized"}`,
				"output_config": `{"effort":"high"}`}, 1},
		{"claude-opus-4-7", agent.Thinking{Level: "xhigh"}, agent.Sampling{}, "",
			map[string]string{"output_config": `{"effort":"xhigh"}`}, 0},
		{"claude-sonnet-5-5", agent.Thinking{Level: "minimal"}, warm, "",
			map[string]string{"output_config": `{"effort":"low"}`, "temperature": "", "top_k": ""},
			2},
		{"claude-mythos-preview", agent.Thinking{Level: "low"}, agent.Sampling{}, "",
			map[string]string{"thinking": `{"type":"adaptive","display":"summarized"}`}, 0},
		{"claude-opus-4-5", agent.Thinking{Level: "off"}, agent.Sampling{}, "",
			map[string]string{"thinking": ""}, 0},
		{"claude-opus-5", agent.Thinking{Level: "off"}, agent.Sampling{}, "",
			map[string]string{"thinking": `{"type":"disabled"}`}, 0},
		{"claude-3-5-haiku-latest", agent.Thinking{Level: "high"}, warm, "",
			map[string]string{"thinking": "", "max_tokens": "4096", "temperature": "0.5",
				"top_p": "0.9", "top_k": "40"}, 1},
		{"claude-sonnet-4-5", agent.Thinking{}, warm, "",
			map[string]string{"temperature": "0.5", "top_p": "", "top_k": "40"}, 1},
		{"claude-sonnet-4-5", agent.Thinking{}, agent.Sampling{Temperature: new(0.)}, "",
			map[string]string{"temperature": "0", "top_p": ""}, 0},
		{"claude-sonnet-4-5", agent.Thinking{}, agent.Sampling{Temperature: new(1.5)}, "",
			map[string]string{"temperature": ""}, 1},
		{"claude-opus-4-7", agent.Thinking{}, warm, "",
			map[string]string{"temperature": "", "top_p": "", "top_k": ""}, 1},
		{"claude-sonnet-4-5", agent.Thinking{Level: "high"}, warm, "",
			map[string]string{"temperature": "", "top_p": "", "top_k": ""}, 1},
		{"claude-sonnet-4-5", agent.Thinking{Level: "high"}, agent.Sampling{MaxTokens: 1500}, "",
			map[string]string{"thinking": "", "max_tokens": "1500"}, 1},
		{"claude-sonnet-4-5", agent.Thinking{Level: "high"}, agent.Sampling{}, "read",
			map[string]string{"thinking": "", "tool_choice": `{"type":"tool","name":"read"}`}, 1},
		{"claude-sonnet-4-5", agent.Thinking{}, agent.Sampling{MinP: .1}, "required",
			map[string]string{"tool_choice": `{"type":"any"}`}, 1},
		{"another-model", agent.Thinking{Level: "low"}, agent.Sampling{}, "auto",
			map[string]string{"thinking": `{"type":"enabled","budget_tokens":2048}`,
				"tool_choice": `{"type":"auto"}`}, 0},
	} {
		req := modeltest.User("hi")
		req.Thinking, req.Sampling, req.ToolChoice, req.Tools = c.thinking, c.sampling, c.choice,
			tools
		body, reply := send(t, c.model, req)
		name := fmt.Sprintf("%s %s", c.model, c.thinking.Level)
		for key, want := range c.want {
			modeltest.Has(t, name, body, key, want)
		}
		if len(reply.Notices) != c.notices {
			t.Errorf("%s: notices %q", name, reply.Notices)
		}
	}
}

var tools = []agent.ToolSpec{
	{Name: "read", Description: "reads", Schema: json.RawMessage(`{"type":"object"}`)},
	{Name: "a.b"},
}

// TestRequest checks how the prompt, the tools and each kind of content are sent.
func TestRequest(t *testing.T) {
	shot := modeltest.Result("call.1", "taken")
	shot.Content = append(
		shot.Content,
		message.Block{Type: message.Image, MimeType: "image/png", Data: []byte("png")},
	)
	failed := modeltest.Result("c2", "no")
	failed.IsError = true
	empty := modeltest.Result("c3", "")
	req := &agent.Request{
		System: []agent.SystemBlock{
			{Text: "You are", Cache: true},
			{Text: " "},
			{Text: "today"},
		},
		Tools: tools,
		Messages: []*message.Message{
			{
				Role: message.RoleUser,
				Content: []message.Block{
					{Type: message.Text, Text: "see"},
					{Type: message.Image, MimeType: "image/png", Data: []byte("png")},
					{Type: message.Image, URL: "https://x/y.png"},
					{
						Type:     message.Image,
						MimeType: "image/tiff",
					},
					{
						Type:     message.File,
						Name:     "a.pdf",
						MimeType: "application/pdf",
						Data:     []byte("pdf"),
					},
					{Type: message.File, Name: "a.txt", Data: []byte("x")},
				},
			},
			modeltest.Calling(
				"first",
				"call.1",
				"c2",
				"c3",
			),
			shot,
			failed,
			empty,
			message.NewText(message.RoleUser, "steer"),
			message.NewText(
				message.RoleAssistant,
				"half",
			),
			message.NewText(message.RoleAssistant, "rest"),
		},
	}
	body, _ := send(t, "claude-sonnet-4-5", req)
	modeltest.Has(
		t,
		"request",
		body,
		"system",
		`[{"type":"text","text":"You are","cache_control":{"type":"ephemeral"}},`+
			`{"type":"text","text":"today"}]`,
	)
	modeltest.Has(
		t,
		"request",
		body,
		"tools",
		`[{"name":"read","description":"reads","input_schema":{"type":"object"}},`+
			`{"name":"a_b_2e7336dc8eba87ef","input_schema":{"type":"object","properties":{}},`+
			`"cache_control":{"type":"ephemeral"}}]`,
	)
	id := "call_1_" + "8ca2b2ef0a3d4bbd"
	got, _ := json.Marshal(body["messages"])
	if i := strings.Index(string(got), `"call_1_`); i > 0 {
		id = string(got)[i+1 : i+1+len(id)]
	}
	modeltest.Has(t, "request", body, "messages", `[
		{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},{"type":"image","source":{"type":"url","url":"https://x/y.png"}},
			{"type":"text","text":"[an image was here; its type, image/tiff, cannot be sent]"},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"},"title":"a.pdf"},{"type":"text","text":"a.txt:\n`+"```\\nx\\n```"+`"}]},
		{"role":"assistant","content":[{"type":"text","text":"first"},`+
		`{"type":"tool_use","id":"`+id+`","name":"read","input":{"path":"a"}},`+
		`{"type":"tool_use","id":"c2","name":"read","input":{"path":"a"}},`+
		`{"type":"tool_use","id":"c3","name":"read","input":{"path":"a"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+id+`",`+
		`"content":[{"type":"text","text":"taken"},`+
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}]},
			{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"no"}],`+
		`"is_error":true},{"type":"tool_result","tool_use_id":"c3"},`+
		`{"type":"text","text":"steer"}]},
		{"role":"assistant","content":[{"type":"text","text":"half"}]},
		{"role":"user","content":[{"type":"text","text":"Continue.","cache_control":{`+
		`"type":"ephemeral"}}]},
		{"role":"assistant","content":[{"type":"text","text":"rest"}]},
		{"role":"user","content":[{"type":"text","text":"Continue.","cache_control":{`+
		`"type":"ephemeral"}}]}]`)
	no := false
	blind := anthropic.New(
		modelhttp.Options{Model: "m", Vision: &no, Tools: &no,
			Transport: &modeltest.Wire{Answer: stopped("end_turn")}},
	)
	defer blind.Close()
	if reply, err := blind.Generate(t.Context(), req, nil); err != nil || len(reply.Notices) != 1 {
		t.Errorf("a blind model: %+v, %v", reply, err)
	}
	must := *req
	must.ToolChoice = "required"
	if _, err := blind.Generate(
		t.Context(),
		&must,
		nil,
	); retry.As(err) == nil ||
		retry.As(err).Kind != retry.Client {
		t.Errorf("a model without tools: %v", err)
	}
}

// play returns a model whose endpoint is scripted and strict.
func play(
	t *testing.T,
	opts modelhttp.Options,
	lines ...string,
) (*anthropic.Model, *script.Server) {
	t.Helper()
	server := modeltest.Play(t, lines...)
	opts.BaseURL = server.URL()
	m := anthropic.New(opts)
	t.Cleanup(func() { _ = m.Close() })
	return m, server
}

// TestThinkingGoesBack checks that thinking and redacted thinking are sent back unmodified to the
// model that produced them, even after a restart and in a fork. They are not sent if they were
// modified or come from another model.
func TestThinkingGoesBack(t *testing.T) {
	for _, streams := range []bool{true, false} {
		m, server := play(
			t,
			modelhttp.Options{Model: "claude-sonnet-4-5", NoStream: !streams},
			`{"reasoning":"Hm <a> & \u2028 ☃","toolCalls":[{"name":"read","arguments":{`+
				`"path":"a"}}],"chunks":5}`,
			`{"reasoning":"redacted: x","text":"more","toolCalls":[{"name":"read","arguments":{`+
				`"path":"b"}}]}`,
			`{"text":"one"}`,
			`{"text":"two"}`,
			`{"text":"three"}`,
			`{"text":"four"}`,
		)
		var sent []byte
		server.OnRequest = func(b []byte) { sent = b }
		req := modeltest.User("hi")
		req.Thinking, req.Tools = agent.Thinking{Level: "low"}, tools
		for range 2 {
			calls := modeltest.Ask(t, m, req).ToolCalls()
			req.Messages = append(req.Messages, modeltest.Result(calls[0].ID, "x"))
		}
		modeltest.Ask(t, m, req)
		count := func() int {
			return strings.Count(
				string(sent),
				`"thinking","thinking":`,
			) + strings.Count(
				string(sent),
				`"redacted_thinking"`,
			)
		}
		if count() != 2 || !strings.Contains(string(sent), `"budget_tokens"`) {
			t.Errorf("thinking is missing: %s", sent)
		}
		again := modeltest.Restarted(t, req) // copies the messages, as a fork does
		again.Messages = append(again.Messages, message.NewText(message.RoleUser, "go on"))
		modeltest.Ask(t, m, again)
		if count() != 2 {
			t.Errorf("thinking is missing after a restart: %s", sent)
		}
		again.Messages[1].Content[0].Opaque = json.RawMessage(
			strings.Replace(string(again.Messages[1].Content[0].Opaque), "Hm", "[redacted]", 1),
		)
		again.Messages = append(
			again.Messages[:1:1],
			again.Messages[1].Clone(),
			again.Messages[2],
			message.NewText(message.RoleUser, "go on"),
		)
		modeltest.Ask(t, m, again)
		if count() != 0 {
			t.Errorf("changed thinking is sent: %s", sent)
		}
		req.Model = "claude-opus-4-5"
		req.Messages = append(req.Messages[:3:3], modeltest.Result("late", "x"))[:3]
		modeltest.Ask(t, m, req)
		if count() != 0 || strings.Contains(string(sent), `"budget_tokens"`) {
			t.Errorf("another model's thinking is sent: %s", sent)
		}
	}
}

// TestAnyHistoryIsValid checks that any history results in a valid request.
func TestAnyHistoryIsValid(t *testing.T) {
	modeltest.CheckAnyHistory(t, api, &modeltest.Histories{
		Model:   "claude-sonnet-4-5",
		Authors: []string{"claude-sonnet-4-5", "claude-opus-4-7", "gpt-5"},
		Models:  []string{"", "claude-opus-4-7", "other"},
		Tools:   [][]agent.ToolSpec{nil, tools[:1], tools, deferredTools, deferredTools[:3]},
		Lines: []string{
			`{"reasoning":"mine","text":"x"}`, `{"reasoning":"redacted: mine","text":"x"}`,
		},
		Vary: func(r *rand.Rand, req *agent.Request) {
			req.Sampling = agent.Sampling{
				Temperature: []*float64{nil, new(0.), new(.7)}[r.IntN(3)],
				MaxTokens:   []int{0, 1100, 5000}[r.IntN(3)],
			}
		},
	})
}

// conversation plays a conversation with tool calls, some of them parallel. It returns the number
// of input tokens that were read from the cache, and the number of all input tokens, both from the
// third request on. Two replies contain more calls than the number of blocks that the provider
// looks back to find a cached prefix.
func conversation(
	t *testing.T,
	requests int,
	between func(i int, req *agent.Request),
) (read, input int) {
	t.Helper()
	var lines []string
	for i := range requests {
		var calls []string
		many := 0
		if i == 30 || i == 40 {
			many = 30
		}
		for n := range 1 + i%3 + many {
			calls = append(
				calls,
				fmt.Sprintf(
					`{"id":"call_%d_%d","name":"read","arguments":{"path":"file%d.go"}}`,
					i,
					n,
					n,
				),
			)
		}
		lines = append(
			lines,
			fmt.Sprintf(
				`{"reasoning":"Next I look at step %d.","text":"Step %d.","toolCalls":[%s]}`,
				i,
				i,
				strings.Join(calls, ","),
			),
		)
	}
	m, _ := play(t, modelhttp.Options{Model: "claude-sonnet-4-5"}, lines...)
	req := modeltest.User("Look at everything.")
	req.System = []agent.SystemBlock{
		{Text: strings.Repeat("You are careful. ", 300), Cache: true},
		{Text: "today"},
	}
	req.Tools, req.Thinking = tools, agent.Thinking{Level: "low"}
	for i := range requests {
		reply := modeltest.Ask(t, m, req)
		if i >= 2 {
			read, input = read+reply.Usage.Cached, input+reply.Usage.Input
		}
		for _, c := range reply.ToolCalls() {
			req.Messages = append(
				req.Messages,
				modeltest.Result(c.ID, strings.Repeat("line of a file\n", 20)),
			)
		}
		between(i, req)
	}
	return read, input
}

// TestCachedShare checks that at least 90 % of the input in requests 3 to 50 is read from the
// cache, or at least 85 % with a steer and a compaction.
func TestCachedShare(t *testing.T) {
	check := func(name string, least, read, input int) {
		t.Helper()
		t.Logf("%s: %d of %d tokens, %.1f %%", name, read, input, 100*float64(read)/float64(input))
		if 100*read < least*input {
			t.Errorf("%s: %d of %d tokens were read from the cache", name, read, input)
		}
	}
	read, input := conversation(t, 50, func(int, *agent.Request) {})
	check("tools", 90, read, input)
	read, input = conversation(t, 50, func(i int, req *agent.Request) {
		switch i {
		case 15:
			req.Messages = append(
				req.Messages,
				message.NewText(message.RoleUser, "Also look at the tests."),
			)
		case 20:
			at := len(req.Messages) - 1 // at becomes the index of the last reply
			for req.Messages[at].Role != message.RoleAssistant {
				at--
			}
			req.Messages = append(
				[]*message.Message{
					message.NewText(message.RoleUser, "Summary: looked at twenty steps."),
				},
				req.Messages[at:]...)
		}
	})
	check("steer and compaction", 85, read, input)
}

// TestHistoryIsEncodedOnce checks that a request encodes only the new messages if the earlier ones
// are already encoded.
func TestHistoryIsEncodedOnce(t *testing.T) { modeltest.CheckWarm(t, api) }

func BenchmarkEncode1000Messages(b *testing.B) { modeltest.BenchmarkEncode(b, api, tools) }

// TestLevelNoticesLast checks that a thinking level that the model does not support is reported
// once per session.
func TestLevelNoticesLast(t *testing.T) {
	for model, want := range map[string]string{
		"claude-opus-4-6":         "claude-opus-4-6 has no thinking level minimal: low is used instead",
		"claude-3-5-haiku-latest": "claude-3-5-haiku-latest does not support thinking, so the level is not sent",
	} {
		req := modeltest.User("hi")
		req.Thinking.Level = "minimal"
		_, reply := send(t, model, req)
		if len(reply.Lasting) != 1 || reply.Lasting[0] != want {
			t.Errorf("%s: %q", model, reply.Lasting)
		}
	}
}
