package oracle

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

	ours "github.com/agent-lsp/agent-lsp/internal/model/gemini"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
)

const flash = "gemini-3-flash-preview"

var geminiAPI = &modeltest.API{
	New: func(o modelhttp.Options) modeltest.Model { return ours.New(o) },
}

// geminiReads streams a request through the SDK and returns the content and the reply.
func geminiReads(
	t *testing.T,
	w *wire,
	contents []*genai.Content,
	config *genai.GenerateContentConfig,
) (*genai.Content, reply) {
	t.Helper()
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: w},
	})
	if err != nil {
		t.Fatal(err)
	}
	content, out := &genai.Content{Role: genai.RoleModel}, reply{}
	for r, err := range client.Models.GenerateContentStream(t.Context(), flash, contents, config) {
		if err != nil {
			t.Fatal(err)
		}
		if u := r.UsageMetadata; u != nil {
			out.Input, out.Cached = int(u.PromptTokenCount), int(u.CachedContentTokenCount)
			out.Output = int(u.CandidatesTokenCount + u.ThoughtsTokenCount)
		}
		for _, c := range r.Candidates {
			content.Parts = append(content.Parts, c.Content.Parts...)
			out.Stop = string(c.FinishReason)
		}
	}
	for _, p := range content.Parts {
		switch {
		case p.FunctionCall != nil:
			args, _ := json.Marshal(p.FunctionCall.Args)
			out.call(p.FunctionCall.ID, p.FunctionCall.Name, string(args))
		case p.Thought:
			out.Thinking += p.Text
		default:
			out.Text += p.Text
		}
	}
	return content, out
}

// signatures changes the signatures in the fixtures to standard base64, which the service sends and
// the SDK's type requires. The service also accepts URL-safe base64, such as the documented dummy
// signature.
var signatures = strings.NewReplacer(
	"SignatureA", "SignatureAAA", "SignatureB", "SignatureBBB",
	"skip_thought_signature_validator", "skip/thought/signature/validator",
)

// TestGemini checks that the adapter and the SDK decode the documented streams identically, and
// that their next requests in the conversation are equal.
func TestGemini(t *testing.T) {
	for _, name := range []string{"weather.sse", "thinking.sse"} {
		answer := signatures.Replace(fixture(t, "gemini/testdata/"+name))
		first := generate(t, geminiAPI.New(options(flash, stream(answer))),
			modeltest.User("Weather?"))
		contents := []*genai.Content{genai.NewContentFromText("Weather?", genai.RoleUser)}
		content, theirs := geminiReads(t, stream(answer), contents, nil)
		same(t, name, read(first), theirs)

		for _, c := range first.Message.ToolCalls() {
			c.ID = cmp.Or(c.ID, "engine") // the engine assigns an ID to a call without one
		}
		for _, p := range content.Parts {
			if p.FunctionCall != nil {
				p.FunctionCall.ID = cmp.Or(p.FunctionCall.ID, "engine")
			}
		}
		w := stream(answer)
		generate(t, geminiAPI.New(options(flash, w)), request(first.Message))
		var parameters any
		_ = json.Unmarshal([]byte(schema), &parameters)
		config := &genai.GenerateContentConfig{
			SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be careful."}}},
			Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
				{Name: "get_weather", Description: "weather", ParametersJsonSchema: parameters},
			}}},
		}
		sdk := stream(answer)
		geminiReads(t, sdk, append(contents, goesOn(content)...), config)
		equal(t, name, plainGemini(t, w.Body), plainGemini(t, sdk.Body))
	}
}

// goesOn returns a reply as the SDK sends it back, with the results of its calls and a prompt.
// Thoughts are omitted, and the pieces of a text are joined into one part.
func goesOn(content *genai.Content) []*genai.Content {
	model, user := &genai.Content{Role: genai.RoleModel}, &genai.Content{Role: genai.RoleUser}
	for _, p := range content.Parts {
		last := len(model.Parts) - 1
		switch {
		case p.Thought:
		case p.Text != "" && last >= 0 && model.Parts[last].Text != "":
			model.Parts[last] = &genai.Part{Text: model.Parts[last].Text + p.Text}
		default:
			model.Parts = append(model.Parts, p)
		}
		if c := p.FunctionCall; c != nil {
			user.Parts = append(user.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: c.ID, Name: c.Name, Response: map[string]any{"output": "sunny"},
			}})
		}
	}
	out := []*genai.Content{model}
	if len(user.Parts) > 0 {
		out = append(out, user)
	}
	return append(out, genai.NewContentFromText("And now?", genai.RoleUser))
}

// plainGemini removes parts that have no effect: an empty text, an empty configuration, and the
// role of the system prompt.
func plainGemini(t *testing.T, body []byte) []byte {
	t.Helper()
	var m map[string]any
	empty := strings.ReplaceAll(string(body), `"text":"",`, "")
	if err := json.Unmarshal([]byte(empty), &m); err != nil {
		t.Fatal(err)
	}
	if c, ok := m["generationConfig"].(map[string]any); ok && len(c) == 0 {
		delete(m, "generationConfig")
	}
	if s, ok := m["systemInstruction"].(map[string]any); ok {
		delete(s, "role")
	}
	return text(m)
}

// TestGeminiRequests checks that the SDK's types support every field in requests with any history.
func TestGeminiRequests(t *testing.T) {
	answer := fixture(t, "gemini/testdata/thinking.sse")
	histories(t, geminiAPI, flash, answer, func(body []byte) error {
		d := json.NewDecoder(strings.NewReader(signatures.Replace(string(body))))
		d.DisallowUnknownFields()
		return d.Decode(&struct {
			Contents          []*genai.Content        `json:"contents"`
			SystemInstruction *genai.Content          `json:"systemInstruction"`
			Tools             []*genai.Tool           `json:"tools"`
			ToolConfig        *genai.ToolConfig       `json:"toolConfig"`
			GenerationConfig  *genai.GenerationConfig `json:"generationConfig"`
		}{})
	})
}
