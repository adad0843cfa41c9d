package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// listener is a provider that requests a tool call at the start of each conversation and records
// the requests it receives.
type listener struct {
	mu     sync.Mutex
	bodies []map[string]any
}

// take returns the requests received since the last call of take.
func (r *listener) take() []map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	bodies := r.bodies
	r.bodies = nil
	return bodies
}

func (r *listener) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(req.Body).Decode(&body)
	r.mu.Lock()
	r.bodies = append(r.bodies, body)
	r.mu.Unlock()
	delta := `{"content":"Done."},"finish_reason":"stop"`
	if messages, _ := json.Marshal(body["messages"]); !strings.Contains(string(messages),
		`"role":"tool"`) {
		delta = `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls",` +
			`"arguments":"{\"path\":\".\"}"}}]},"finish_reason":"tool_calls"`
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":`+delta+`}]}`+
		"\n\ndata: [DONE]\n\n")
}

// sentBy runs the program once with the given settings and the provider's real address, which a
// proxy redirects to this process. It returns the requests.
func sentBy(t *testing.T, base, config string) []map[string]any {
	t.Helper()
	r := &listener{}
	server := httptest.NewServer(r)
	defer server.Close()
	proxy := newForward(t, server.Listener.Addr().String(), "")
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runProgram(t,
		[]string{"HTTP_PROXY=" + proxy.url, "OPENAI_BASE_URL=" + base, "AGENT_LSP_CONFIG=" + file},
		"run", "hello")
	if code != exitOK || len(r.bodies) != 2 {
		t.Fatalf("exit code %d after %d calls:\n%s%s", code, len(r.bodies), out, errs)
	}
	return r.bodies
}

// All requests of a session share one cache key, which no other session uses. A setting can
// override the key.
func TestCacheKeyOfASession(t *testing.T) {
	const openAI = "http://api.openai.com/v1"
	one, two := sentBy(t, openAI, `{"model":"gpt-5.1"}`), sentBy(t, openAI, `{"model":"gpt-5.1"}`)
	first, _ := one[0]["prompt_cache_key"].(string)
	if first == "" || one[1]["prompt_cache_key"] != first || two[0]["prompt_cache_key"] == first {
		t.Errorf("keys %v, %v; another session's %v", first, one[1]["prompt_cache_key"],
			two[0]["prompt_cache_key"])
	}
	if named := sentBy(t, openAI, `{"model":"gpt-5.1",`+
		`"cacheKey":"team"}`); named[0]["prompt_cache_key"] != "team" {
		t.Errorf("the settings' key is sent as %v", named[0]["prompt_cache_key"])
	}
}

// The settings can define the thinking budget, in tokens, of a level. Other levels keep their
// defaults.
func TestThinkingBudgetsOfTheSettings(t *testing.T) {
	for config, want := range map[string]string{
		`{"model":"gemini-2.5-pro","thinking":"high",` +
			`"thinkingBudgets":{"high":5000}}`: `"thinking_budget":5000`,
		`{"model":"gemini-2.5-pro","thinking":"low",` +
			`"thinkingBudgets":{"high":5000}}`: `"reasoning_effort":"low"`,
	} {
		sent, _ := json.Marshal(sentBy(t, "http://generativelanguage.googleapis.com/v1beta/openai",
			config)[1])
		if !strings.Contains(string(sent), want) || strings.Contains(config, `"low"`) &&
			strings.Contains(string(sent), "5000") {
			t.Errorf("%s: no %s in %s", config, want, sent)
		}
	}
}
