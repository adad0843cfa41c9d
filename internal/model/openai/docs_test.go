package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// TestProviderTable loads each configuration snippet in docs/use/models.md, and sends a request
// with those for this adapter. It also checks the page's table of error kinds.
func TestProviderTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/use/models.md")
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile(`(?m)^## (.+)$`)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatchIndex(page, -1)
	if len(blocks) < 12 {
		t.Fatalf("%d snippets", len(blocks))
	}
	fields := map[string]string{ // texts that each provider's request must contain, by heading
		"OpenAI": "", "Azure OpenAI": "Api-Key", "Anthropic": `"max_tokens":`, "Gemini": "",
		"Several providers": "", "OpenRouter": "Authorization", "DeepSeek": "Authorization",
		"Mistral": `"stream":true}`, "Ollama": "", "llama-server": "", "vLLM": "", "LM Studio": "",
		"Models that write their calls as text": "",
	}
	for _, at := range blocks {
		heads := section.FindAllSubmatch(page[:at[0]], -1)
		name := string(heads[len(heads)-1][1])
		want, known := fields[name]
		if !known {
			t.Errorf("the test does not know the section %q", name)
		}
		checkSnippet(t, name, page[at[2]:at[3]], want)
	}
	for kind := range map[retry.Kind]bool{retry.Auth: true, retry.RateLimit: true,
		retry.Quota: true, retry.Overloaded: true, retry.ContextOverflow: true,
		retry.ContentFilter: true,
		retry.Client:        true, retry.Transient: true, retry.Blank: true, retry.StreamIdle: true,
		retry.Truncated: true, retry.Script: true} {
		row := "| `" + string(kind) + "` |"
		i := bytes.Index(page, []byte(row))
		if i < 0 {
			t.Errorf("no row for %s", kind)
			continue
		}
		line, _, _ := strings.Cut(string(page[i:]), "\n")
		if cells := strings.Split(line,
			"|"); strings.TrimSpace(cells[3]) == "yes" != retry.Retryable(kind) ||
			strings.TrimSpace(cells[4]) == "yes" != retry.FallbackEligible(kind) {
			t.Errorf("the row of %s does not match the code: %s", kind, line)
		}
	}
}

// otherAdapter matches settings for models that another adapter serves.
var otherAdapter = regexp.MustCompile(`"(anthropic|gemini)[/"]`)

func checkSnippet(t *testing.T, name string, raw []byte, want string) {
	t.Helper()
	var config struct {
		Model          string                 `json:"model"`
		Providers      map[string]any         `json:"providers"`
		FallbackModels []string               `json:"fallbackModels"`
		Thinking       string                 `json:"thinking"`
		Context        struct{ Window int }   `json:"context"`
		Repair         map[string]interface{} `json:"repair"`
		Provider       struct {
			BaseURL   string            `json:"baseUrl"`
			APIKeyEnv string            `json:"apiKeyEnv"`
			API       string            `json:"api"`
			Query     map[string]string `json:"query"`
		} `json:"provider"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&config); err != nil {
		t.Errorf("%s: %v\n%s", name, err, raw)
		return
	}
	w := &wire{answer: sound}
	if config.Provider.API == openai.APIResponses {
		w.answer = events(`{"type":"response.completed","response":{"status":"completed",` +
			`"output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}}`)
	}
	if otherAdapter.Match(raw) {
		return // TestProviderSettings covers these settings
	}
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: config.Provider.BaseURL,
		Model: config.Model, Query: config.Provider.Query, ContextWindow: config.Context.Window,
		Transport: w, Key: keyOf(config.Provider.APIKeyEnv)}, API: config.Provider.API})
	defer m.Close()
	if _, err := m.Generate(t.Context(), modeltest.User("hi"), nil); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	var sent strings.Builder
	_ = w.header.Write(&sent)
	sent.Write(w.body)
	if !strings.Contains(strings.ReplaceAll(sent.String(),
		`,"messages":[{"role":"user","content":"hi"}]`, ""), want) {
		t.Errorf("%s: %q is missing from the request:\n%s", name, want, sent.String())
	}
}

func keyOf(env string) modelhttp.KeyFunc {
	if env == "" {
		return nil
	}
	return func(context.Context) (string, error) { return "the-key-of-" + env, nil }
}
