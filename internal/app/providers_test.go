package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// endpoint is a test provider. It records the path, key and model of each request.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	status int // HTTP status of the responses to model requests; 0 means 200
	seen   []string
	list   string // response to requests for the list; "" means modelList
}

// lists sets the response to requests for the list of models.
func (e *endpoint) lists(answer string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = answer
}

const (
	chatReply = `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},` +
		`"finish_reason":"stop"}]}`
	modelList = `{"object":"list","data":[{"id":"chatty","object":"model"},` +
		`{"id":"text-embedding-3","object":"model"}]}`
)

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	var body struct{ Model string }
	b, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(b, &body)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(
		e.seen,
		strings.Join(
			[]string{
				r.URL.Path,
				r.Header.Get("Authorization") + r.Header.Get("X-Api-Key"),
				body.Model,
			},
			" ",
		),
	)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodGet:
		fmt.Fprint(w, firstOf(e.list, modelList))
	case e.status != 0:
		w.WriteHeader(e.status)
		fmt.Fprint(w, `{"error":{"message":"not now"}}`)
	default:
		fmt.Fprint(w, chatReply)
	}
}

// requests returns the requests that the endpoint received since the last call.
func (e *endpoint) requests() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := e.seen
	e.seen = nil
	return seen
}

func (e *endpoint) answer(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
}

func testProviders(t *testing.T, env ...string) *providers {
	t.Helper()
	client := &http.Client{Transport: &asked{}}
	resolver := &config.Resolver{Env: config.Lookup(env), Client: client}
	p, err := newProviders(resolver, "", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func ask(t *testing.T, m agent.Model) error {
	t.Helper()
	_, err := m.Generate(
		t.Context(),
		&agent.Request{Messages: []*message.Message{message.NewText(message.RoleUser, "hi")}},
		nil,
	)
	return err
}

// Each model of a chain is sent to its own provider with that provider's key, even if the model ID
// contains a slash. If a provider's key is missing, the error names the variable, and nothing is
// sent.
func TestEachProviderHasItsOwnKey(t *testing.T) {
	one, two := newEndpoint(t), newEndpoint(t)
	p := testProviders(t, "ONE=key-one", "TWO=key-two", "OPENAI_API_KEY=key-openai")
	c := &config.Config{
		Model: "one/a", FallbackModels: []string{"two/vendor/b", "plain", "gemini/g", "three/c"},
		Providers: map[string]config.Provider{
			"one":   {BaseURL: one.URL + "/v1", APIKeyEnv: "ONE"},
			"two":   {BaseURL: two.URL + "/v1", APIKeyEnv: "TWO"},
			"three": {BaseURL: two.URL + "/v1", APIKeyEnv: "THREE"},
		},
	}
	chain, err := p.chain(t.Context(), c)
	if err != nil || len(chain) != 5 {
		t.Fatalf("%d models, %v", len(chain), err)
	}
	for _, m := range chain[:3] {
		if err := ask(t, m); err != nil {
			t.Error(err)
		}
	}
	if got := fmt.Sprint(one.requests()); got != "[/v1/chat/completions Bearer key-one a /v1/chat/completions Bearer key-one plain]" {
		t.Errorf("the first provider was asked %s", got)
	}
	if got := fmt.Sprint(two.requests()); got != "[/v1/chat/completions Bearer key-two vendor/b]" {
		t.Errorf("the second provider was asked %s", got)
	}
	for m, variable := range map[agent.Model]string{chain[3]: "GEMINI_API_KEY", chain[4]: "THREE"} {
		e := retry.As(ask(t, m))
		if e == nil || e.Kind != retry.Auth || !strings.Contains(e.Error(), variable) {
			t.Errorf("%s: %v", m.Info().ID, e)
		}
	}
	if n := len(two.requests()); n != 0 {
		t.Errorf("%d requests without a key", n)
	}
}

// The list contains the models of all usable providers. Models of the default provider have no
// prefix. A provider that does not answer does not affect the others. Settings override the
// server's figures.
func TestModelListOfSeveralProviders(t *testing.T) {
	one, two := newEndpoint(t), newEndpoint(t)
	p := testProviders(t, "ONE=key-one")
	c := &config.Config{
		Provider: &config.Provider{BaseURL: one.URL + "/v1", APIKeyEnv: "ONE"},
		Providers: map[string]config.Provider{
			"two":  {BaseURL: two.URL + "/v1"},
			"gone": {BaseURL: "http://127.0.0.1:1/v1"},
		},
		Windows: map[string]int{"two/*": 1234},
		Prices:  map[string]config.Price{"two/chatty": {Input: 2, Output: 3}},
	}
	list, err := p.list(t.Context(), c)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if m := list[0]; m.ID != "chatty" || m.Provider != strings.TrimPrefix(one.URL, "http://") ||
		m.Cost != nil ||
		m.Source != "server" {
		t.Errorf("%+v", m)
	}
	if m := list[1]; m.ID != "two/chatty" || m.Provider != "two" || m.ContextWindow != 1234 ||
		m.Source != "settings" ||
		m.Cost == nil ||
		*m.Cost != (wire.ModelCost{Input: 2, Output: 3}) {
		t.Errorf("%+v", m)
	}
}

// Listing the models of a provider that fails returns that provider's error. The status reports
// whether a prompt can be sent, and does not use the network for this.
func TestProviderStatus(t *testing.T) {
	one := newEndpoint(t)
	corp := map[string]config.Provider{
		"one":  {BaseURL: one.URL + "/v1"},
		"gone": {BaseURL: "http://127.0.0.1:1/v1"},
	}
	for _, c := range []struct {
		name, model, env string
		configured       bool
		hint             string
	}{
		{"nothing is set", "", "", false, "OPENAI_API_KEY"},
		{"a key", "", "OPENAI_API_KEY=k", true, ""},
		{"a provider with its address", "one/a", "", true, ""},
		{"a provider without its key", "anthropic/a", "", false, "agent-lsp login anthropic"},
		{"a provider without an address", "azure/a", "", false, "providers.azure.baseUrl"},
	} {
		p := testProviders(t, c.env)
		got := p.status(&config.Config{Model: c.model, Providers: corp})
		if got.Configured != c.configured || !strings.Contains(got.Hint, c.hint) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if seen := one.requests(); len(seen) != 0 {
		t.Errorf("the status asked %s", seen)
	}
	p, c := testProviders(t, ""), &config.Config{Model: "one/a", Providers: corp}
	list, err := p.listOf(t.Context(), c, "one")
	if err != nil || len(list) != 1 || list[0].ID != "chatty" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := p.listOf(t.Context(), c, "gone"); err == nil ||
		!strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("a provider that does not answer: %v", err)
	}
}

// The model test sends one word to the referenced model. If it fails, its error is a complete
// sentence. Nothing is sent to a provider whose key is missing.
func TestTryModel(t *testing.T) {
	one, two := newEndpoint(t), newEndpoint(t)
	p := testProviders(t, "ONE=key-one")
	c := &config.Config{
		Model: "one/a",
		Providers: map[string]config.Provider{
			"one": {BaseURL: one.URL + "/v1", APIKeyEnv: "ONE"},
			"two": {BaseURL: two.URL + "/v1", APIKeyEnv: "TWO"},
		},
	}
	for _, ref := range []string{"one/b", "b"} {
		if got := p.test(t.Context(), c, ref); !got.OK || got.LatencyMs < 1 || got.Error != "" {
			t.Errorf("%s: %+v", ref, got)
		}
		if got := fmt.Sprint(one.requests()); got != "[/v1/chat/completions Bearer key-one b]" {
			t.Errorf("%s: the provider was asked %s", ref, got)
		}
	}
	one.answer(http.StatusServiceUnavailable)
	for ref, want := range map[string]string{
		"one/b": "not now", "two/b": "TWO", "one/": "is not a model reference",
	} {
		got := p.test(t.Context(), c, ref)
		if got.OK || !strings.Contains(got.Error, want) || !strings.HasSuffix(got.Error, ".") {
			t.Errorf("%s: %+v", ref, got)
		}
	}
	if n, m := len(one.requests()), len(two.requests()); n != 1 || m != 0 {
		t.Errorf("%d and %d requests", n, m)
	}
}

// If the server gives no reason, the error names the server. The error begins by stating whether a
// key is invalid or missing.
func TestProviderErrors(t *testing.T) {
	for _, c := range []struct {
		status          int
		body, key, want string
	}{
		{http.StatusInternalServerError, "", "k", "HTTP 500 from 127.0.0.1:"},
		{
			http.StatusUnauthorized, `{"error":{"message":"no"}}`, "k",
			"the API key of one is invalid: no",
		},
		{http.StatusUnauthorized, "", "", "one needs an API key: HTTP 401 from 127.0.0.1:"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		t.Cleanup(server.Close)
		p := testProviders(t, "ONE="+c.key)
		one := config.Provider{BaseURL: server.URL + "/v1"}
		if c.key != "" {
			one.APIKeyEnv = "ONE"
		}
		settings := &config.Config{Providers: map[string]config.Provider{"one": one}}
		if got := p.test(t.Context(), settings, "one/a"); !strings.HasPrefix(got.Error, c.want) {
			t.Errorf("%d: %+v, want %s", c.status, got, c.want)
		}
	}
}

// The catalog's prices apply to hosted providers, but not to a local server whose model has the
// same name as a hosted one.
func TestLocalServersHaveNoListPrice(t *testing.T) {
	for at, priced := range map[*config.Endpoint]bool{
		{ID: "", BaseURL: "http://127.0.0.1:8080/v1"}:       false,
		{ID: "ollama", BaseURL: "http://localhost:11434"}:   false,
		{ID: "mine", BaseURL: "http://[::1]:9/v1"}:          false,
		{ID: "mine", BaseURL: "https://gw.example/v1"}:      true,
		{ID: "openai", BaseURL: "http://127.0.0.1:8080/v1"}: true,
	} {
		m := listedModel(at, &config.Config{}, agent.ModelInfo{ID: "gpt-4.1"})
		if (m.Cost != nil) != priced || unpriced(at) == priced {
			t.Errorf("%+v: %+v", at, m.Cost)
		}
	}
}

// The list reports the source of its figures. The server's figures override the catalog's, and
// settings override both. The cost includes the cache prices. It is missing if the price is
// unknown.
func TestModelFacts(t *testing.T) {
	hosted, router, mine := newEndpoint(t), newEndpoint(t), newEndpoint(t)
	hosted.lists(`{"data":[{"id":"gpt-5.6-sol"},{"id":"gpt-4.1"},{"id":"gpt-5.6-of-acme"},
		{"id":"unheard-of"},{"id":"text-embedding-3-large"},{"id":"gpt-image-1"},
		{"id":"whisper-1"}]}`)
	router.lists(`{"data":[{"id":"anthropic/claude-sonnet-4.5","name":"Sonnet",
		"context_length":123456,"architecture":{"input_modalities":["text","image"]},
		"supported_parameters":["tools"],"top_provider":{"max_completion_tokens":64000},
		"pricing":{"prompt":"0.000004","completion":"0.00002","input_cache_read":"0.0000004",
		"input_cache_write":"0.000005"}},
		{"id":"free","pricing":{"prompt":"0","completion":"0"}}]}`)
	mine.lists(`{"data":[{"id":"gpt-4.1","max_model_len":8192},{"id":"gpt-4.1-tuned"}]}`)
	p := testProviders(t, "OPENAI_API_KEY=k", "OPENROUTER_API_KEY=k")
	c := &config.Config{
		Model: "openai/gpt-5.6-sol",
		Providers: map[string]config.Provider{
			"openai": {BaseURL: hosted.URL + "/v1"}, "openrouter": {BaseURL: router.URL + "/v1"},
			"mine": {BaseURL: mine.URL + "/v1"},
		},
		Prices: map[string]config.Price{"mine/gpt-4.1-tuned": {Input: 1, Output: 2}},
	}
	list, err := p.list(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, describe(t, m))
	}
	want := []string{
		`mine/gpt-4.1 "GPT-4.1" 8192+0 vision true server`,
		`mine/gpt-4.1-tuned "" 0+0 {"input":1,"output":2} settings`,
		`gpt-5.6-sol "GPT-5.6 Sol" 1050000+0 vision true [off low medium high xhigh] ` +
			`{"input":5,"output":30,"cacheRead":0.5,"cacheWrite":6.25} catalog`,
		`gpt-4.1 "GPT-4.1" 1047576+0 vision true ` +
			`{"input":2,"output":8,"cacheRead":0.5} catalog`,
		`gpt-5.6-of-acme "" 400000+0 vision true [minimal low medium high] catalog`,
		`unheard-of "" 0+0 server`,
		`openrouter/anthropic/claude-sonnet-4.5 "Sonnet" 123456+64000 vision true tools true ` +
			`[low medium high] ` +
			`{"input":4,"output":20,"cacheRead":0.4,"cacheWrite":5} server`,
		`openrouter/free "" 0+0 server`,
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// describe returns one line about a listed model: its ID, name, context window, output limit and
// other known properties.
func describe(t *testing.T, m wire.Model) string {
	t.Helper()
	line := fmt.Sprintf("%s %q %d+%d", m.ID, m.Name, m.ContextWindow, m.MaxOutput)
	if m.Vision != nil {
		line += fmt.Sprint(" vision ", *m.Vision)
	}
	if m.Tools != nil {
		line += fmt.Sprint(" tools ", *m.Tools)
	}
	if m.Thinking != nil {
		line += fmt.Sprint(" ", m.Thinking)
	}
	if m.Cost != nil {
		b, err := json.Marshal(m.Cost)
		if err != nil {
			t.Fatal(err)
		}
		line += " " + string(b)
	}
	return line + " " + m.Source
}
