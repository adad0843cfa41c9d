package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/config"
)

// localServer simulates a local server. answers contains the response for each method and path. For
// all others, the server responds with 404.
func localServer(t *testing.T, answers map[string]string) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.Method+" "+r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1"
}

// The window that a local server reports overrides the window in the catalog, and settings override
// both. This applies to the list of models and to sessions. The catalog has a window of 131,072
// tokens for gpt-oss-20b.
func TestServersReportWindows(t *testing.T) {
	const list = `{"data":[{"id":"gpt-oss-20b"%s}]}`
	plain := fmt.Sprintf(list, "")
	for _, c := range []struct {
		name, provider string
		answers        map[string]string
		windows        map[string]int
		want           string // window, vision, tools and source, as listed
		session        int
	}{
		{"llama-server", "llama-server", map[string]string{
			"GET /v1/models": fmt.Sprintf(list, `,"meta":{"n_ctx_train":131072}`),
			"GET /props": `{"default_generation_settings":{"n_ctx":16384},
				"modalities":{"vision":true},"chat_template_caps":{"supports_tool_calls":true}}`,
		}, nil, "16384 true true server", 16384},
		{"Ollama", "ollama", map[string]string{
			"GET /v1/models": plain,
			"POST /api/show": `{"parameters":"temperature 1\nnum_ctx                8192\n",
				"model_info":{"general.architecture":"gptoss","gptoss.context_length":131072,
					"gptoss.vision.context_length":512},
				"capabilities":["completion","tools"]}`,
		}, nil, "8192 false true server", 8192},
		{"Ollama with a vision model", "ollama", map[string]string{
			"GET /v1/models": plain,
			"POST /api/show": `{"model_info":{"general.architecture":"gptoss",
				"gptoss.vision.context_length":512,"gptoss.context_length":131072,
				"mm.context_length":77}}`,
		}, nil, "131072 false ? server", 131072},
		{"Ollama with the model loaded", "ollama", map[string]string{
			"GET /v1/models": plain,
			"POST /api/show": `{"model_info":{"general.architecture":"gptoss",
				"gptoss.context_length":131072}}`,
			"GET /api/ps": `{"models":[{"name":"gpt-oss-20b:latest","context_length":4096}]}`,
		}, nil, "4096 false ? server", 4096},
		{"vLLM", "vllm", map[string]string{
			"GET /v1/models": fmt.Sprintf(list, `,"max_model_len":32768`),
		}, nil, "32768 false ? server", 32768},
		{"a server that reports nothing", "vllm",
			map[string]string{"GET /v1/models": plain}, nil,
			"131072 false ? catalog", 131072},
		{"a setting", "llama-server", map[string]string{
			"GET /v1/models": plain,
			"GET /props":     `{"default_generation_settings":{"n_ctx":16384}}`,
		}, map[string]int{"gpt-oss*": 1000}, "1000 false ? settings", 1000},
		{"a setting below an empty answer", "llama-server", map[string]string{
			"GET /v1/models": plain, "GET /props": `not JSON`,
		}, map[string]int{"gpt-oss*": 1000}, "1000 false ? settings", 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := testProviders(t)
			set := &config.Config{Model: c.provider + "/gpt-oss-20b", Windows: c.windows,
				Providers: map[string]config.Provider{
					c.provider: {BaseURL: localServer(t, c.answers)},
				}}
			models, err := p.listOf(t.Context(), set, c.provider)
			if err != nil || len(models) != 1 {
				t.Fatalf("%+v, %v", models, err)
			}
			m := models[0]
			known := func(b *bool) string {
				if b == nil {
					return "?"
				}
				return fmt.Sprint(*b)
			}
			got := fmt.Sprintf("%d %s %s %s",
				m.ContextWindow, known(m.Vision), known(m.Tools), m.Source)
			if got != c.want || m.Cost != nil {
				t.Errorf("the list has %s and the price %v, want %s", got, m.Cost, c.want)
			}
			fresh := testProviders(t)
			chain, err := fresh.chain(t.Context(), set)
			if err != nil {
				t.Fatal(err)
			}
			if n := chain[0].Info().ContextWindow; n != c.session {
				t.Errorf("a session has %d tokens, want %d", n, c.session)
			}
		})
	}
}

// If the settings give a server on this computer only by its address, listing its models also
// queries it for their context windows, provided that it answers. The next prompt uses the result.
func TestUnnamedServersReportWindows(t *testing.T) {
	p := testProviders(t)
	set := &config.Config{Model: "m", Provider: &config.Provider{}}
	set.Provider.BaseURL = localServer(t, map[string]string{
		"GET /v1/models": `{"data":[{"id":"m"},{"id":"n"}]}`,
		"GET /props":     `{"default_generation_settings":{"n_ctx":2048}}`,
	})
	list, err := p.list(t.Context(), set)
	if err != nil || len(list) != 2 || list[0].ContextWindow != 2048 || list[1].Source != "server" {
		t.Errorf("%+v, %v", list, err)
	}
	chain, err := p.chain(t.Context(), set)
	if err != nil || chain[0].Info().ContextWindow != 2048 {
		t.Errorf("%+v, %v", chain, err)
	}
	silent := newEndpoint(t)
	silent.lists(`{"data":[{"id":"a"},{"id":"b"},{"id":"c"}]}`)
	set.Provider.BaseURL = silent.URL + "/v1"
	_, err = p.list(t.Context(), set)
	if asked := silent.requests(); err != nil || len(asked) != 3 {
		t.Errorf("a silent server was asked %q, %v", asked, err)
	}
}

// A prompt waits for a local server only once. Later prompts use the last response, while the
// server is queried again in the background.
func TestReportsAreRefreshedInTheBackground(t *testing.T) {
	window, answer := 2048, make(chan bool, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
		case <-r.Context().Done():
			return
		}
		_, _ = fmt.Fprintf(w, `{"default_generation_settings":{"n_ctx":%d}}`, window)
	}))
	t.Cleanup(server.Close)
	p := testProviders(t)
	set := &config.Config{Model: "llama-server/m", Providers: map[string]config.Provider{
		"llama-server": {BaseURL: server.URL + "/v1"},
	}}
	uses := func(want int) {
		t.Helper()
		chain, err := p.chain(t.Context(), set)
		if err != nil {
			t.Fatal(err)
		}
		if got := chain[0].Info().ContextWindow; got != want {
			t.Errorf("the prompt uses a window of %d, want %d", got, want)
		}
	}
	answer <- true
	uses(2048)
	p.reports.mu.Lock()
	for key, k := range p.reports.kept {
		k.at = k.at.Add(-2 * reportLifetime)
		p.reports.kept[key] = k
	}
	p.reports.mu.Unlock()
	window = 4096
	uses(2048) // the server has not answered the new query yet
	answer <- true
	p.reports.wg.Wait()
	uses(4096)
}
