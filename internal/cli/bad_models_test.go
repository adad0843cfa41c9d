package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// strictProvider is an endpoint that lists one model and rejects wrong keys and unknown models.
type strictProvider struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string // keys of all requests received
}

func newStrictProvider(t *testing.T) *strictProvider {
	s := new(strictProvider)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// asked returns the keys of all requests received so far.
func (s *strictProvider) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.keys, " ")
}

func (s *strictProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Model string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	s.keys = append(s.keys, key)
	s.mu.Unlock()
	refuse := func(status int, code, format string, args ...any) {
		w.WriteHeader(status)
		e := map[string]string{"code": code, "message": fmt.Sprintf(format, args...)}
		_ = json.NewEncoder(w).Encode(map[string]any{"error": e})
	}
	switch {
	case key != "k-right-key":
		refuse(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: %s", key)
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, `{"data":[{"id":"house-model"}]}`)
	case body.Model != "house-model":
		refuse(http.StatusNotFound, "model_not_found", "The model '%s' does not exist", body.Model)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":`+
			`"Said by the provider."},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":9,"completion_tokens":4}}`+"\n\ndata: [DONE]\n\n")
	}
}

// modelStep is a command with its environment variables, the expected exit code, and texts that the
// output must contain.
type modelStep struct {
	command string
	code    int
	says    []string
}

// badModelInput contains mistakes in model settings. WORK is replaced by the provider named work,
// URL by its address, PROBE by a setting that excludes other servers on this machine, and CATALOG
// by a catalog that cannot be reached.
var badModelInput = []struct {
	name, settings string
	steps          []modelStep
}{
	{"an unknown provider", `{PROBE, "model": "antropic/claude", WORK}`, []modelStep{
		{"run hello", exitNoProvider, []string{
			`no provider is named "antropic": did you mean anthropic? ` +
				`Otherwise add it to "providers"`,
		}},
		{"doctor", exitNoProvider, []string{
			"provider: none", "next: did you mean anthropic?", "keys: work from WORK_KEY",
		}},
		{"OPENAI_API_KEY=k-right-key OPENAI_BASE_URL=URL run hello", exitFailed, []string{
			`check the model "antropic/claude"`, "did you mean anthropic?", "`agent-lsp models`",
		}},
		{"models", exitOK, []string{"work/house-model"}},
		{"models --provider wrok", exitUsage, []string{`"wrok" is not one of`}},
		{"AGENT_LSP_MODEL=work/house-model run hello", exitOK, []string{"Said by the provider."}},
	}},
	{"the key of another provider", `{PROBE, "model": "work/house-model", WORK}`, []modelStep{
		{"OPENAI_API_KEY=k AGENT_LSP_MODEL=anthropic/claude run hello", exitNoProvider, []string{
			"set ANTHROPIC_API_KEY or run `agent-lsp login anthropic`",
		}},
		{"WORK_KEY=sk-ant-of-another run hello", exitFailed, []string{
			"the API key of work is invalid", "check the API key in the variable WORK_KEY",
		}},
		{"WORK_KEY=sk-ant-of-another doctor", exitFailed, []string{
			"the API key of work is invalid", "next: check the API key in the variable WORK_KEY",
		}},
		{"WORK_KEY=sk-ant-of-another models", exitFailed, []string{"in the variable WORK_KEY"}},
		{"run hello", exitOK, []string{"Said by the provider."}},
	}},
	{"a model that is not listed", `{PROBE, "model": "work/huose-model", WORK}`, []modelStep{
		{"run hello", exitFailed, []string{
			`check the model "huose-model" and providers.work.baseUrl, which is http`,
			"`agent-lsp models --provider work` lists its models",
		}},
		{"doctor", exitOK, []string{
			"which is not one of them; house-model is", "such as work/house-model",
		}},
		{"models --provider work", exitOK, []string{"house-model"}},
		{"AGENT_LSP_MODEL=work/house-model run hello", exitOK, []string{"Said by the provider."}},
	}},
	{"a missing price", `{PROBE, "model":"work/house-model", "budget":{"cost":1}, WORK}`,
		[]modelStep{
			{"run hello", exitOK, []string{
				"The price of house-model is not known, so budget.cost does not limit the cost; " +
					"add the model to prices", "Said by the provider.",
			}},
			{"models", exitOK, []string{"house-model"}},
		}},
	{"a damaged catalog", `{PROBE, "model":"work/gpt-4.1", "catalog":{CATALOG}, WORK}`,
		[]modelStep{
			{"doctor", exitOK, []string{
				"notice: the model catalog in ", "models.json is ignored: it is damaged",
				"Delete ",
			}},
			{"models", exitOK, []string{"house-model"}},
			{"AGENT_LSP_MODEL=work/house-model run hello", exitOK,
				[]string{"Said by the provider."}},
		}},
}

// TestBadModelInput checks that each mistake produces a message that says what to do, that no
// output contains a key, and that the mistake does not affect other settings.
func TestBadModelInput(t *testing.T) {
	for _, c := range badModelInput {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newStrictProvider(t)
			words := strings.NewReplacer("PROBE", `"provider": {"probe": false}`, "CATALOG",
				`"refresh": true, "url": "http://127.0.0.1:9"`, "WORK}",
				`"providers": {"work": {"baseUrl": "`+server.URL+`/v1", "apiKeyEnv": "WORK_KEY"}}}`)
			home := t.TempDir()
			file, cache := filepath.Join(home, "config.json"), filepath.Join(home, "agent-lsp")
			if err := os.Mkdir(cache, 0o700); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(cache, "models.json"), `{"format":1,"providers":[{"id":`)
			put(t, file, words.Replace(c.settings))
			for _, s := range c.steps {
				env := []string{
					"OPENAI_API_KEY=", "OPENAI_MODEL=", "WORK_KEY=k-right-key",
					"AGENT_LSP_KEYRING=file", "AGENT_LSP_CONFIG=" + file, "XDG_CACHE_HOME=" + home,
				}
				args := strings.Fields(s.command)
				for strings.Contains(args[0], "=") {
					env = append(env, strings.Replace(args[0], "=URL", "="+server.URL+"/v1", 1))
					args = args[1:]
				}
				code, out, errs := runProgram(t, env, args...)
				if code != s.code {
					t.Errorf("%s: exit code %d\n%s%s", s.command, code, out, errs)
				}
				has(t, s.command, out+errs, s.says...)
				for _, key := range []string{"k-right-key", "sk-ant-of-another"} {
					if strings.Contains(out+errs, key) {
						t.Errorf("%s prints %s:\n%s%s", s.command, key, out, errs)
					}
				}
			}
			if strings.Contains(server.asked(), "k ") {
				t.Errorf("the endpoint got the key of another provider: %s", server.asked())
			}
		})
	}
}
