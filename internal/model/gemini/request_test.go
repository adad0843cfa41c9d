package gemini_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/gemini"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/script"
)

// send sends a request and returns the request body and the reply.
func send(t *testing.T, model string, req *agent.Request) (map[string]any, *agent.Reply) {
	t.Helper()
	w := &modeltest.Wire{Answer: stopped("STOP")}
	return modeltest.Body(t, gemini.New(modelhttp.Options{Model: model, Transport: w}), w, req)
}

// TestAddress checks that the base URL may include the version, and that the key is sent in the
// header that the endpoint expects.
func TestAddress(t *testing.T) {
	const google = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent"
	for base, want := range map[string]string{
		"": google + "?alt=sse k ",
		"https://generativelanguage.googleapis.com/v1beta/": google + "?alt=sse k ",
		"https://llm.example.com/g": "https://llm.example.com/g/v1beta/models/" +
			"m:streamGenerateContent?alt=sse k ",
		"https://eu-aiplatform.googleapis.com": "https://eu-aiplatform.googleapis.com/v1beta/" +
			"models/m:streamGenerateContent?alt=sse  Bearer k",
	} {
		w := &modeltest.Wire{Answer: stopped("STOP")}
		m := gemini.New(modelhttp.Options{
			BaseURL: base, Model: "models/m", Transport: w, Key: modeltest.KeyOf("k"),
		})
		if _, err := m.Generate(t.Context(), modeltest.User("hi"), nil); err != nil {
			t.Fatal(err)
		}
		got := w.URL + " " + w.Header.Get("X-Goog-Api-Key") + " " + w.Header.Get("Authorization")
		if got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
		_ = m.Close()
	}
}

// TestThinkingAndSampling checks which parameters each model generation receives for a thinking
// level, and which are omitted with a notice.
func TestThinkingAndSampling(t *testing.T) {
	for _, c := range []struct {
		model    string
		thinking agent.Thinking
		sampling agent.Sampling
		want     string
		notices  int
	}{
		{"gemini-2.5-flash", agent.Thinking{}, agent.Sampling{}, "", 0},
		{"gemini-2.5-flash", agent.Thinking{Level: "medium"}, agent.Sampling{},
			`{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192}}`, 0},
		{"gemini-2.5-pro", agent.Thinking{Level: "high", Budget: 5000}, agent.Sampling{},
			`{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":5000}}`, 0},
		{"gemini-2.5-flash", agent.Thinking{Level: "off"}, agent.Sampling{},
			`{"thinkingConfig":{"thinkingBudget":0}}`, 0},
		{"gemini-2.5-pro", agent.Thinking{Level: "off"}, agent.Sampling{},
			`{"thinkingConfig":{"thinkingBudget":128}}`, 1},
		{"gemini-3-pro-preview", agent.Thinking{Level: "xhigh"}, agent.Sampling{},
			`{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}`, 1},
		{"gemini-3-pro-preview", agent.Thinking{Level: "medium"}, agent.Sampling{},
			`{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}`, 1},
		{"gemini-3.1-pro-preview", agent.Thinking{Level: "medium"}, agent.Sampling{},
			`{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"MEDIUM"}}`, 0},
		{"gemini-3.1-pro-preview", agent.Thinking{Level: "minimal"}, agent.Sampling{},
			`{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}`, 1},
		{"gemini-3-pro-preview", agent.Thinking{Level: "off"}, agent.Sampling{},
			`{"thinkingConfig":{"thinkingLevel":"LOW"}}`, 1},
		{"gemini-3-flash-preview", agent.Thinking{Level: "minimal"}, agent.Sampling{},
			`{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"MINIMAL"}}`, 0},
		{"gemini-2.0-flash", agent.Thinking{Level: "high"}, agent.Sampling{}, "", 1},
		{"gemma-3", agent.Thinking{Level: "off"}, agent.Sampling{}, "", 0},
		{"gemini-2.5-flash", agent.Thinking{}, agent.Sampling{Temperature: new(0.)},
			`{"temperature":0}`, 0},
		{"gemini-2.5-flash", agent.Thinking{},
			agent.Sampling{Temperature: new(.5), TopP: .9, TopK: 40, MinP: .1, MaxTokens: 1500},
			`{"maxOutputTokens":1500,"temperature":0.5,"topP":0.9,"topK":40}`, 1},
	} {
		req := modeltest.User("hi")
		req.Thinking, req.Sampling = c.thinking, c.sampling
		body, reply := send(t, c.model, req)
		name := fmt.Sprintf("%s %s", c.model, c.thinking.Level)
		modeltest.Has(t, name, body, "generationConfig", c.want)
		if len(reply.Notices) != c.notices {
			t.Errorf("%s: notices %q", name, reply.Notices)
		}
		if c.thinking.Level != "" && len(reply.Lasting) != c.notices {
			t.Errorf("%s: lasting notices %q of %q", name, reply.Lasting, reply.Notices)
		}
	}
}

var tools = []agent.ToolSpec{
	{Name: "read", Description: "reads", Schema: json.RawMessage(`{"type":"object"}`)},
	{Name: "1a"},
}

// TestRequest checks how the prompt, the tools and each kind of content are sent.
func TestRequest(t *testing.T) {
	shot := modeltest.Result("c1", "taken")
	png := message.Block{Type: message.Image, MimeType: "image/png", Data: []byte("png")}
	shot.Content = append(shot.Content, png)
	failed := modeltest.Result("c2", "no")
	failed.IsError = true
	pdf := message.Block{
		Type: message.File, Name: "a.pdf", MimeType: "application/pdf", Data: []byte("pdf"),
	}
	req := &agent.Request{
		System:     []agent.SystemBlock{{Text: "You are"}, {Text: " "}, {Text: "today"}},
		Tools:      tools,
		ToolChoice: "read",
		Messages: []*message.Message{
			{Role: message.RoleUser, Content: []message.Block{
				{Type: message.Text, Text: "see"}, png,
				{Type: message.Image, URL: "https://x/y.png"},
				pdf, {Type: message.File, Name: "a.txt", Data: []byte("x")},
			}},
			modeltest.Calling("first", "c1", "c2"), shot, failed,
			message.NewText(message.RoleUser, "steer"),
			message.NewText(message.RoleAssistant, "half"),
			message.NewText(message.RoleAssistant, "rest"),
		},
	}
	body, _ := send(t, "gemini-3-pro-preview", req)
	modeltest.Has(t, "request", body, "systemInstruction",
		`{"parts":[{"text":"You are"},{"text":"today"}]}`)
	modeltest.Has(t, "request", body, "tools", `[{"functionDeclarations":[
		{"name":"read","description":"reads","parametersJsonSchema":{"type":"object"}},
		{"name":"_1a"}]}]`)
	modeltest.Has(t, "request", body, "toolConfig",
		`{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["read"]}}`)
	modeltest.Has(t, "request", body, "contents", `[
		{"role":"user","parts":[{"text":"see"},
			{"inlineData":{"mimeType":"image/png","data":"cG5n"}},
			{"text":"[an image was here: https://x/y.png; only its bytes can be sent]"},
			{"inlineData":{"mimeType":"application/pdf","data":"cGRm"}},
			{"text":"a.txt:\n`+"```\\nx\\n```"+`"}]},
		{"role":"model","parts":[{"text":"first"},
			{"functionCall":{"id":"c1","name":"read","args":{"path":"a"}},
				"thoughtSignature":"skip_thought_signature_validator"},
			{"functionCall":{"id":"c2","name":"read","args":{"path":"a"}}}]},
		{"role":"user","parts":[
			{"functionResponse":{"id":"c1","name":"read","response":{"output":"taken"},
				"parts":[{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]}},
			{"functionResponse":{"id":"c2","name":"read","response":{"error":"no"}}}]},
		{"role":"user","parts":[{"text":"steer"}]},
		{"role":"model","parts":[{"text":"half"}]},
		{"role":"user","parts":[{"text":"Continue."}]},
		{"role":"model","parts":[{"text":"rest"}]},
		{"role":"user","parts":[{"text":"Continue."}]}]`)
	older, _ := send(t, "gemini-2.5-flash", &agent.Request{
		Messages: []*message.Message{modeltest.Calling("", "c1"), shot},
	})
	modeltest.Has(t, "an older model", older, "contents", `[
		{"role":"user","parts":[{"text":"Continue."}]},
		{"role":"model","parts":[
			{"functionCall":{"id":"c1","name":"read","args":{"path":"a"}}}]},
		{"role":"user","parts":[
			{"functionResponse":{"id":"c1","name":"read","response":{"output":"taken"}}},
			{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]}]`)
}

// TestModelWithoutToolsOrVision checks that images are omitted with a notice, and that a required
// tool call returns an error.
func TestModelWithoutToolsOrVision(t *testing.T) {
	no := false
	m := gemini.New(modelhttp.Options{Model: "m", Vision: &no, Tools: &no,
		Transport: &modeltest.Wire{Answer: stopped("STOP")}})
	defer m.Close()
	req := modeltest.User("hi")
	req.Tools = tools
	req.Messages[0].Content = append(req.Messages[0].Content,
		message.Block{Type: message.Image, MimeType: "image/png", Data: []byte("png")})
	if reply, err := m.Generate(t.Context(), req, nil); err != nil || len(reply.Notices) != 1 {
		t.Errorf("%+v, %v", reply, err)
	}
	req.ToolChoice = "required"
	_, err := m.Generate(t.Context(), req, nil)
	if e := retry.As(err); e == nil || e.Kind != retry.Client {
		t.Errorf("a required call: %v", err)
	}
}

// play returns a model whose endpoint is scripted and strict.
func play(t *testing.T, opts modelhttp.Options, lines ...string) (*gemini.Model, *script.Server) {
	t.Helper()
	server := modeltest.Play(t, lines...)
	opts.BaseURL = server.URL()
	m := gemini.New(opts)
	t.Cleanup(func() { _ = m.Close() })
	return m, server
}

// TestSignaturesGoBack checks that a signature is sent back unmodified to the model that produced
// it, even after a restart and in a fork. Another model never receives it. For calls, it receives
// the documented dummy signature instead.
func TestSignaturesGoBack(t *testing.T) {
	for _, streams := range []bool{true, false} {
		m, server := play(
			t,
			modelhttp.Options{Model: "gemini-3-pro-preview", NoStream: !streams},
			`{"reasoning":"Hm","toolCalls":[{"name":"read","arguments":{"path":"a"}},`+
				`{"name":"read","arguments":{"path":"b"}}],"chunks":5}`,
			`{"reasoning":"So","text":"one"}`,
			`{"text":"two"}`,
			`{"text":"three"}`,
		)
		var sent string
		server.OnRequest = func(b []byte) { sent = string(b) }
		req := modeltest.User("hi")
		req.Thinking, req.Tools = agent.Thinking{Level: "low"}, tools
		for _, c := range modeltest.Ask(t, m, req).ToolCalls() {
			req.Messages = append(req.Messages, modeltest.Result(c.ID, "x"))
		}
		modeltest.Ask(t, m, req)
		check := func(when string, own, dummy int) {
			t.Helper()
			got := strings.Count(sent, `"thoughtSignature":"sig_`)
			if d := strings.Count(sent, "skip_thought"); got != own || d != dummy {
				t.Errorf("%s: %d signatures, %d dummies: %s", when, got, d, sent)
			}
			if strings.Contains(sent, `"thought":true`) {
				t.Errorf("%s: a thought is sent: %s", when, sent)
			}
		}
		check("in the turn", 1, 0)
		again := modeltest.Restarted(t, req) // copies the messages, as a fork does
		again.Messages = append(again.Messages, message.NewText(message.RoleUser, "go on"))
		modeltest.Ask(t, m, again)
		check("after a restart", 2, 0)
		again.Model = "gemini-3.1-pro"
		again.Messages = append(again.Messages, message.NewText(message.RoleUser, "go on"))
		modeltest.Ask(t, m, again)
		check("another model", 0, 1)
	}
}

// TestAnyHistoryIsValid checks that any history results in a valid request.
func TestAnyHistoryIsValid(t *testing.T) {
	modeltest.CheckAnyHistory(t, api, &modeltest.Histories{
		Model:   "gemini-3-pro-preview",
		Authors: []string{"gemini-3-pro-preview", "gemini-2.5-pro", "gpt-5"},
		Models:  []string{"", "gemini-3.1-pro-preview"},
		Tools:   [][]agent.ToolSpec{nil, tools[:1], tools},
		Lines: []string{
			`{"reasoning":"mine","text":"x"}`,
			`{"toolCalls":[{"name":"read","arguments":{"path":"a"}}]}`,
		},
	})
}

// TestHistoryIsEncodedOnce checks that a request encodes only the new messages if the earlier ones
// are already encoded.
func TestHistoryIsEncodedOnce(t *testing.T) { modeltest.CheckWarm(t, api) }

func BenchmarkEncode1000Messages(b *testing.B) { modeltest.BenchmarkEncode(b, api, tools) }
