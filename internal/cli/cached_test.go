package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/script"
)

// cachedSession is a session in an in-process daemon. Its model uses the Messages API, and its cost
// depends on which prefix is cached.
type cachedSession struct {
	t  *testing.T
	c  *client
	id string
}

// newCachedSession starts a session in a folder. The given settings override the defaults.
func newCachedSession(t *testing.T, server *script.Server, dir string,
	settings map[string]any) *cachedSession {
	t.Helper()
	d := startInProcess(t, []string{"serve", "--state-dir", filepath.Join(t.TempDir(), "state")},
		[]string{"HOME=" + t.TempDir(), "KEY=k"})
	t.Cleanup(func() {
		d.Stdin.Close()
		d.Wait()
	})
	c := connect(t.Context(), d.Stdout, d.Stdin, &client{notify: func(string, json.RawMessage) {}})
	options := map[string]any{"model": "m", "context": map[string]any{"window": 200000},
		"provider": map[string]any{"api": "anthropic", "baseUrl": server.URL(), "apiKeyEnv": "KEY"}}
	for k, v := range settings {
		options[k] = v
	}
	if err := c.initialize(t.Context(), dir, options, false, false); err != nil {
		t.Fatal(err)
	}
	s := &cachedSession{t: t, c: c}
	s.id, _ = s.call("agent/session/new", map[string]any{})["sessionId"].(string)
	return s
}

func (s *cachedSession) call(method string, params map[string]any) map[string]any {
	if s.id != "" {
		params["sessionId"] = s.id
	}
	var result map[string]any
	if err := s.c.call(s.t.Context(), method, params, &result); err != nil {
		s.t.Errorf("%s: %v", method, err)
	}
	return result
}

// prompt runs a turn and returns it.
func (s *cachedSession) prompt(text string) map[string]any {
	s.t.Helper()
	m := s.call("agent/prompt", map[string]any{"prompt": text})["messageId"]
	turn := s.call("agent/turn/wait", map[string]any{"messageId": m})
	if turn["status"] != "completed" {
		s.t.Fatalf("%q: %v", text, turn)
	}
	return turn
}

// usage returns the total input tokens of all requests so far, and how many of them were read from
// the cache.
func (s *cachedSession) usage() (input, cached int) {
	session, _ := s.call("agent/session/load", map[string]any{})["session"].(map[string]any)
	u, _ := session["usage"].(map[string]any)
	in, _ := u["input"].(float64)
	read, _ := u["cached"].(float64)
	return int(in), int(read)
}

// A compaction leaves the tools and the system prompt byte-identical, so that the provider can
// still serve them from its cache.
func TestCompactionKeepsTheCachedPrefix(t *testing.T) {
	for name, settings := range map[string]map[string]any{
		"default":           {},
		"without memory":    {"memory": map[string]any{"enabled": false}},
		"all tools":         {"tools": map[string]any{"deferBytes": -1}},
		"without searching": {"tools": map[string]any{"disable": []string{"tool_search"}}},
	} {
		t.Run(name, func(t *testing.T) {
			server := modeltest.Play(t, `{"window":200000}`,
				`{"text":"A long answer that nobody needs later.\n\n","repeat":400}`,
				`{"toolCalls":[{"name":"glob","arguments":{"pattern":"*"}}]}`,
				`{"text":"Nothing."}`,
				`{"when":{"lastUser":"request for the notes"},"text":"## Goal\nLook."}`,
				`{"text":"On."}`)
			var prefixes []string
			server.OnRequest = func(body []byte) {
				var r struct{ System, Tools json.RawMessage }
				_ = json.Unmarshal(body, &r)
				prefixes = append(prefixes, string(r.Tools)+string(r.System))
			}
			s := newCachedSession(t, server, t.TempDir(), settings)
			s.prompt("say it")
			s.prompt("look")
			s.call("agent/compact", map[string]any{"instructions": "keep the goal"})
			last := s.prompt("go on")
			if len(prefixes) != 5 || !strings.Contains(prefixes[0], `"glob"`) {
				t.Fatalf("%d requests, the last turn is %v", len(prefixes), last)
			}
			for _, i := range []int{1, 2, 4} { // prefixes[3] is from the request for the summary
				if prefixes[i] != prefixes[0] {
					t.Errorf("request %d begins with\n%s\nthe first with\n%s", i+1, prefixes[i],
						prefixes[0])
				}
			}
			if u, _ := last["usage"].(map[string]any); u["cached"] == nil || u["cached"] == 0. {
				t.Errorf("the cache was not read after the compaction: %v", u)
			}
		})
	}
}

// TestCachedShareOfARun checks the share of input tokens that are read from the cache in a complete
// run of about 50 requests, without the first two. The share is at least 90 %, or at least 85 % in
// a run with a steer and a compaction.
func TestCachedShareOfARun(t *testing.T) {
	for name, least := range map[string]int{"tools": 90, "steer and compaction": 85} {
		t.Run(name, func(t *testing.T) {
			dir, lines := t.TempDir(), []string{`{"window":200000}`}
			for i := range 50 {
				file := fmt.Sprintf("file%02d.txt", i)
				text := strings.Repeat(fmt.Sprintf("line of file %d\n", i), 40)
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if i == 1 || i == 20 || i == 49 { // the last request of a turn
					lines = append(lines, `{"text":"Done."}`)
					continue
				}
				lines = append(lines, fmt.Sprintf(`{"text":"Step %d.","toolCalls":[{"name":"read",`+
					`"arguments":{"path":%q}}]}`, i, file))
			}
			mixed := least == 85
			if mixed {
				lines = append(lines, "")
				copy(lines[23:], lines[22:])
				lines[22] = `{"when":{"lastUser":"notes"},"text":"## Goal\nRead all files."}`
			}
			server := modeltest.Play(t, lines...)
			requests, steered := 0, 0
			var s *cachedSession
			server.OnRequest = func(body []byte) {
				if strings.Contains(string(body), "Also look at") {
					steered++
				}
				if requests++; requests == 12 && mixed {
					s.call("agent/steer", map[string]any{"prompt": "Also look at the tests."})
				}
			}
			s = newCachedSession(t, server, dir, map[string]any{})
			s.prompt("Read the first file.") // this turn sends requests 1 and 2
			input, cached := s.usage()
			s.prompt("Read twenty more.")
			if mixed {
				s.call("agent/compact", map[string]any{})
			}
			s.prompt("Read the others.")
			allInput, allCached := s.usage()
			input, cached = allInput-input, allCached-cached
			t.Logf("%d requests, %d of %d tokens are cached: %.1f %%", requests, cached, input,
				100*float64(cached)/float64(input))
			if requests < 50 || mixed != (steered > 0) || 100*cached < least*input {
				t.Errorf("%d requests, %d with the steer, %d of %d tokens are cached", requests,
					steered, cached, input)
			}
		})
	}
}
