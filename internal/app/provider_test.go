package app

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model/catalog"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/model/script"
)

// asked records the first request and rejects all requests, so that no test uses the network.
type asked struct {
	url    string
	header http.Header
	body   string
}

var errAsked = errors.New("the test answers nobody")

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.url == "" {
		a.url, a.header = r.URL.String(), r.Header.Clone()
		if r.Body != nil {
			b, _ := io.ReadAll(r.Body)
			a.body = string(b)
		}
	}
	return nil, errAsked
}

// apiKeyEnv matches the environment variables that settings name for keys.
var apiKeyEnv = regexp.MustCompile(`"(\w+)_API_KEY"`)

// keysEnv returns an environment with every key that the settings name, such as
// MISTRAL_API_KEY=k-mistral.
func keysEnv(text string) []string {
	env := []string{
		"TEAM=blue",
		"OPENAI_API_KEY=k-openai",
		"ANTHROPIC_API_KEY=k-anthropic",
		"GEMINI_API_KEY=k-gemini",
	}
	for _, m := range apiKeyEnv.FindAllStringSubmatch(text, -1) {
		env = append(env, m[1]+"_API_KEY=k-"+strings.ToLower(m[1]))
	}
	return env
}

// loadedEndpoint loads the text as the user's settings, as the daemon does, and resolves the
// provider.
func loadedEndpoint(t *testing.T, text string) (*config.Endpoint, *config.Config) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set := config.Load(config.Sources{UserFile: file, Environ: keysEnv(text)})
	for _, n := range set.Notices() {
		t.Errorf("%s: %v", text, n)
	}
	c := set.Config()
	r := &config.Resolver{Env: config.Lookup(keysEnv(text))}
	e, err := r.Resolve(t.Context(), c, c.Reference(c.Model))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e, c
}

// promptOf returns a prompt request with the model parameters from the settings.
func promptOf(c *config.Config) *agent.Request {
	return &agent.Request{
		Messages: []*message.Message{message.NewText(message.RoleUser, "hi")},
		Sampling: sampling(c),
		Thinking: agent.Thinking{Level: c.Thinking},
	}
}

// requestOf returns the first request that is sent with the given settings.
func requestOf(t *testing.T, text string) asked {
	t.Helper()
	var a asked
	e, c := loadedEndpoint(t, text)
	o := modelOptions(e, c, c.Reference(c.Model).Model)
	o.Transport = &a
	m := newAdapter(o)
	defer m.Close()
	_, err := m.Generate(t.Context(), promptOf(c), nil)
	if err == nil || a.url == "" {
		t.Fatalf("%s: no request was sent: %v", text, err)
	}
	return a
}

// playSettings sends a prompt with documented settings to a fake of the provider's API. The fake
// rejects any request that the service would reject.
func playSettings(t *testing.T, text string) {
	t.Helper()
	s, err := script.Load(strings.NewReader(`{"text": "Hello."}`))
	if err != nil {
		t.Fatal(err)
	}
	fake, err := script.Serve(s)
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	e, c := loadedEndpoint(t, text)
	e.BaseURL = fake.URL()
	m := newAdapter(modelOptions(e, c, c.Reference(c.Model).Model))
	defer m.Close()
	reply, err := m.Generate(t.Context(), promptOf(c), nil)
	if err != nil || reply.Message.TextContent() != "Hello." {
		t.Errorf("%s: %+v, %v", text, reply, err)
	}
}

// TestProviderSettings sends a request with the documented settings of each provider. The request
// must go to the provider's own address, name the model, and contain the key in the way that the
// provider expects. The fake of the provider's API must accept the same request.
func TestProviderSettings(t *testing.T) {
	providers := map[string]struct{ url, header, key string }{
		"Several providers": {"https://api.anthropic.com/v1/messages", "X-Api-Key", "k-anthropic"},
		"OpenAI":            {"https://api.openai.com/v1/", "Authorization", "Bearer k-openai"},
		"Azure OpenAI":      {".openai.azure.com/openai/", "Api-Key", "k-azure_openai"},
		"Azure": {
			".openai.azure.com/openai/v1/chat/completions",
			"Api-Key",
			"k-azure_openai",
		},
		"Anthropic": {"/v1/messages", "X-Api-Key", "k-anthropic"},
		"Gemini": {
			"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:",
			"X-Goog-Api-Key",
			"k-gemini",
		},
		"OpenRouter": {
			"https://openrouter.ai/api/v1/chat/completions",
			"Authorization",
			"Bearer k-openrouter",
		},
		"DeepSeek": {
			"https://api.deepseek.com/v1/chat/completions",
			"Authorization",
			"Bearer k-deepseek",
		},
		"Mistral": {
			"https://api.mistral.ai/v1/chat/completions",
			"Authorization",
			"Bearer k-mistral",
		},
		"Ollama":       {":11434/v1/chat/completions", "", ""},
		"llama-server": {":8080/v1/chat/completions", "", ""},
		"vLLM":         {":8000/v1/chat/completions", "", ""},
		"LM Studio":    {":1234/v1/chat/completions", "", ""},
	}
	for name, configs := range documentedProviders(t) {
		want, known := providers[name]
		if !known {
			t.Errorf("the test does not know %s", name)
		}
		delete(providers, name)
		for _, text := range configs {
			playSettings(t, text)
			a := requestOf(t, text)
			var c config.Config
			if err := json.Unmarshal(plainComments.ReplaceAll([]byte(text), nil), &c); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(a.url, want.url) ||
				want.header != "" && a.header.Get(want.header) != want.key ||
				!strings.Contains(a.url+a.body, c.Reference(c.Model).Model) &&
					c.Model != "" {
				t.Errorf("%s: asks %s with %v: %s", name, a.url, a.header, a.body)
			}
			if c.Provider != nil && c.Provider.Query["api-version"] != "" &&
				!strings.Contains(
					a.url,
					"/deployments/"+c.Model+"/chat/completions?api-version="+
						c.Provider.Query["api-version"],
				) {
				t.Errorf("%s: asks %s", name, a.url)
			}
			if name == "Azure" && a.header.Get("X-Team") != "blue" {
				t.Errorf("%s: headers %v", name, a.header)
			}
		}
	}
	for name := range providers {
		t.Errorf("the documentation has no lines for %s", name)
	}
}

var (
	plainComments = regexp.MustCompile(`(?m)//[^"\n]*$`)
	snippet       = regexp.MustCompile("(?s)```jsonc?\n(.*?)```")
)

// documentedProviders returns the settings for each provider in the README, docs/use/models.md and
// docs/reference/configuration.md.
func documentedProviders(t *testing.T) map[string][]string {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	out := map[string][]string{}
	_, ollama, _ := strings.Cut(read("README.md"), "## Choose a model")
	if m := snippet.FindStringSubmatch(ollama); m != nil {
		out["Ollama"] = append(out["Ollama"], m[1])
	} else {
		t.Error("the README has no settings for a model")
	}
	page := read("docs/use/models.md")
	for _, part := range strings.Split(page, "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		for _, m := range snippet.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(name, "Models that") {
				out[name] = append(out[name], m[1])
			}
		}
	}
	_, azure, ok := strings.Cut(read("docs/reference/configuration.md"), "\nUse Azure with ")
	if m := snippet.FindStringSubmatch(azure); ok && m != nil {
		out["Azure"] = []string{m[1]}
	}
	return out
}

// Prices and context windows in the settings apply to the models that they name by ID or glob.
func TestModelTables(t *testing.T) {
	c := &config.Config{
		Prices: map[string]config.Price{
			"*":      {Input: 9},
			"qwen/*": {Input: 1, Output: 2, Cached: 3, CacheWrite: 4},
			"exact":  {Input: 5},
		},
		Windows: map[string]int{"qwen*": 1000, "qwen/qwen3": 2000},
	}
	for id, want := range map[string]catalog.Price{"qwen/qwen3": {Input: 1, Output: 2, CacheRead: 3,
		CacheWrite: 4}, "exact": {Input: 5}, "openai/gpt-5": {Input: 9}} {
		if got := prices(c, "", id)[id]; got != want {
			t.Errorf("%s costs %+v, want %+v", id, got, want)
		}
	}
	for id, want := range map[string]int{"qwen/qwen3": 2000, "qwen/qwen2": 1000, "other": 0} {
		if got := windowOf(c, "", id); got != want {
			t.Errorf("%s has a window of %d, want %d", id, got, want)
		}
	}
}
