package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
)

// A compaction keeps the tools and the system prompt byte by byte, so that the provider's cache
// still serves them.
func TestCompactionKeepsTheCachedPrefix(t *testing.T) {
	server := modeltest.Play(t, `{"window":200000}`,
		`{"text":"A long answer that nobody needs later.\n\n","repeat":400}`,
		`{"toolCalls":[{"name":"glob","arguments":{"pattern":"*"}}]}`, `{"text":"Nothing."}`,
		`{"when":{"lastUser":"wants of the notes"},"text":"## Goal\nLook."}`, `{"text":"On."}`)
	var prefixes []string
	server.OnRequest = func(body []byte) {
		var r struct{ System, Tools json.RawMessage }
		_ = json.Unmarshal(body, &r)
		prefixes = append(prefixes, string(r.Tools)+string(r.System))
	}
	d := startInProcess(t, []string{"serve", "--state-dir", filepath.Join(t.TempDir(), "state")},
		[]string{"HOME=" + t.TempDir(), "KEY=k"})
	defer func() {
		d.Stdin.Close()
		d.Wait()
	}()
	c := connect(t.Context(), d.Stdout, d.Stdin, &client{notify: func(string, json.RawMessage) {}})
	options := map[string]any{"model": "m", "context": map[string]any{"window": 200000},
		"memory":   map[string]any{"enabled": false},
		"provider": map[string]any{"api": "anthropic", "baseUrl": server.URL(), "apiKeyEnv": "KEY"}}
	if err := c.initialize(t.Context(), t.TempDir(), options, false, false); err != nil {
		t.Fatal(err)
	}
	var id string
	call := func(method string, params map[string]any) map[string]any {
		params["sessionId"] = id
		var result map[string]any
		if err := c.call(t.Context(), method, params, &result); err != nil {
			t.Fatal(err)
		}
		return result
	}
	id, _ = call("agent/session/new", map[string]any{})["sessionId"].(string)
	prompt := func(text string) map[string]any {
		m := call("agent/prompt", map[string]any{"prompt": text})["messageId"]
		return call("agent/turn/wait", map[string]any{"messageId": m})
	}
	prompt("say it")
	prompt("look")
	call("agent/compact", map[string]any{"instructions": "keep the goal"})
	last := prompt("go on")
	if len(prefixes) != 5 || last["status"] != "completed" ||
		!strings.Contains(prefixes[0], `"glob"`) {
		t.Fatalf("%d requests, the last turn is %v", len(prefixes), last)
	}
	for _, i := range []int{1, 2, 4} { // 3 is the request for the summary
		if prefixes[i] != prefixes[0] {
			t.Errorf("request %d begins with\n%s\nthe first with\n%s", i+1, prefixes[i],
				prefixes[0])
		}
	}
	if u, _ := last["usage"].(map[string]any); u["cached"] == nil || u["cached"] == 0. {
		t.Errorf("the cache was not read after the compaction: %v", u)
	}
}
