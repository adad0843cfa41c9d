package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// network answers requests by host. It rejects requests for hosts that are not listed.
type network map[string]string

func (n network) RoundTrip(req *http.Request) (*http.Response, error) {
	body, ok := n[req.URL.Host]
	if !ok {
		return nil, errors.New("connection refused")
	}
	return &http.Response{
		StatusCode: 200,
		Body:       io.NopCloser(strings.NewReader(body)),
		Request:    req,
	}, nil
}

// resolveDefault resolves the model reference in the setting "model".
func resolveDefault(t *testing.T, r *Resolver, c *Config) (*Endpoint, error) {
	t.Helper()
	ref := c.Reference(c.Model)
	e, err := r.Resolve(t.Context(), c, ref)
	if err == nil {
		e.Model = first(ref.Model, e.Model)
	}
	return e, err
}

// TestAFoundServerGetsNoHeaders checks that headers and query parameters of the settings are not
// sent to a server that was found by probing, because they may contain a key.
func TestAFoundServerGetsNoHeaders(t *testing.T) {
	r := &Resolver{
		Env: func(string) string { return "" },
		Client: &http.Client{Transport: network{
			"127.0.0.1:11434": `{"data":[{"id":"m"}]}`,
		}},
	}
	for url, want := range map[string]int{"": 0, "http://127.0.0.1:11434/v1": 1} {
		e, err := resolveDefault(t, r, &Config{Provider: &Provider{
			BaseURL: url, Headers: map[string]string{"X-Key": "k"},
			Query: map[string]string{"key": "k"}, Organization: "o",
		}})
		if err != nil {
			t.Fatal(err)
		}
		p := e.Provider
		if len(p.Headers) != want || len(p.Query) != want || len(p.Organization) != want {
			t.Errorf("base URL %q: %v %v %q", url, p.Headers, p.Query, p.Organization)
		}
	}
}

func TestResolve(t *testing.T) {
	no := false
	ollama := network{"127.0.0.1:11434": `{"data":[{"id":"qwen"},{"id":"llama"}]}`}
	for _, c := range []struct {
		name   string
		config Config
		env    map[string]string
		net    network
		want   string // name, base URL, model and key
		hint   string
	}{
		{name: "nothing", hint: "OPENAI_API_KEY"},
		{name: "probe off", config: Config{Provider: &Provider{Probe: &no}}, net: ollama,
			hint: "OPENAI_API_KEY"},
		{name: "openai", env: map[string]string{"OPENAI_API_KEY": "k"}, net: ollama,
			want: "api.openai.com https://api.openai.com/v1  k"},
		{name: "local", net: ollama, want: "Ollama http://127.0.0.1:11434/v1 qwen "},
		{name: "local, model named", config: Config{Model: "m"}, net: ollama,
			want: "Ollama http://127.0.0.1:11434/v1 m "},
		{name: "preferred local", net: network{"127.0.0.1:8080": `{"data":[{"id":"l"}]}`,
			"127.0.0.1:1234": `{"data":[]}`}, want: "llama-server http://127.0.0.1:8080/v1 l "},
		{name: "another server on the port",
			net:  network{"127.0.0.1:8080": `<html>`, "127.0.0.1:8000": `{"data":[{"id":"v"}]}`},
			want: "vLLM http://127.0.0.1:8000/v1 v "},
		{name: "base URL", config: Config{Model: "m",
			Provider: &Provider{BaseURL: "http://h:1/v1/"}}, net: ollama,
			want: "h:1 http://h:1/v1 m "},
		{name: "base URL and key", config: Config{Provider: &Provider{BaseURL: "http://h/v1",
			APIKeyEnv: "MY"}}, env: map[string]string{"MY": "k2", "OPENAI_API_KEY": "k"},
			want: "h http://h/v1  k2"},
		{name: "named key missing", config: Config{Provider: &Provider{APIKeyEnv: "MY"}},
			env: map[string]string{"OPENAI_API_KEY": "k"}, hint: "set MY"},
		{name: "command", config: Config{Provider: &Provider{APIKeyCommand: []string{"pass",
			"show"}}}, want: "api.openai.com https://api.openai.com/v1  from pass show"},
		{name: "anthropic", config: Config{Provider: &Provider{API: "anthropic"}},
			env: map[string]string{"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "k",
				"OPENAI_BASE_URL": "http://o/v1"}, net: ollama,
			want: "api.anthropic.com https://api.anthropic.com  a"},
		{name: "anthropic elsewhere", config: Config{Provider: &Provider{API: "anthropic",
			BaseURL: "https://h/anthropic", APIKeyEnv: "MY"}}, env: map[string]string{"MY": "a"},
			want: "h https://h/anthropic  a"},
		{name: "anthropic without a key", config: Config{Provider: &Provider{API: "anthropic"}},
			env: map[string]string{"OPENAI_API_KEY": "k"}, net: ollama, hint: "ANTHROPIC_API_KEY"},
		{name: "OPENAI_BASE_URL", env: map[string]string{"OPENAI_BASE_URL": "http://o/v1"},
			net: ollama, want: "o http://o/v1  "},
		{name: "gemini without a key", config: Config{Provider: &Provider{API: "gemini"}},
			hint: "GEMINI_API_KEY"},
		{name: "named", config: Config{Model: "anthropic/claude"},
			env:  map[string]string{"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "k"},
			want: "anthropic https://api.anthropic.com claude a"},
		{name: "named openai elsewhere", config: Config{Model: "openai/gpt"},
			env:  map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://o/v1"},
			want: "openai http://o/v1 gpt k"},
		{name: "named without a key", config: Config{Model: "anthropic/claude"},
			env: map[string]string{"OPENAI_API_KEY": "k"}, net: ollama, hint: "ANTHROPIC_API_KEY"},
		{name: "named local", config: Config{Model: "lmstudio/a/b"},
			env:  map[string]string{"OPENAI_API_KEY": "k"},
			want: "lmstudio http://127.0.0.1:1234/v1 a/b "},
		{name: "named, key by field", config: Config{Model: "gemini/g",
			Providers: map[string]Provider{"gemini": {APIKeyEnv: "MY"}}},
			env:  map[string]string{"MY": "g"},
			want: "gemini https://generativelanguage.googleapis.com g g"},
		{name: "named in the settings",
			config: Config{Model: "corp/m",
				Providers: map[string]Provider{"corp": {BaseURL: "https://c/v1"}}},
			env: map[string]string{"OPENAI_API_KEY": "k"}, want: "corp https://c/v1 m "},
		{name: "named, no base URL", config: Config{Model: "azure/m"},
			env: map[string]string{"AZURE_OPENAI_API_KEY": "k"}, hint: "providers.azure.baseUrl"},
		{name: "a slash is no name with a base URL",
			config: Config{Model: "openai/gpt", Provider: &Provider{BaseURL: "https://r/v1"}},
			want:   "r https://r/v1 openai/gpt "},
		{name: "unless it is configured",
			config: Config{Model: "openai/gpt", Provider: &Provider{BaseURL: "https://r/v1"},
				Providers: map[string]Provider{"openai": {BaseURL: "https://c/v1"}}},
			want: "openai https://c/v1 gpt "},
		{name: "unknown name", config: Config{Model: "opnai/gpt"}, hint: "openrouter"},
		{name: "bad URL", config: Config{Provider: &Provider{BaseURL: "localhost:80"}},
			hint: "http"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Resolver{
				Env:    func(n string) string { return c.env[n] },
				Client: &http.Client{Transport: c.net},
				Run: func(_ context.Context, argv []string) (string, error) {
					return "from " + strings.Join(argv, " ") + "\n", nil
				},
			}
			e, err := resolveDefault(t, r, &c.config)
			if c.hint != "" {
				var n *NotConfiguredError
				if !errors.As(err, &n) || !strings.Contains(n.Hint, c.hint) {
					t.Errorf("error %v, want a hint with %q", err, c.hint)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			key, err := e.Key(t.Context())
			if got := strings.Join([]string{e.Name, e.BaseURL, e.Model, key}, " "); err != nil ||
				got != c.want {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

func TestKeyCommand(t *testing.T) {
	calls := 0
	out, fail := "key\nmore", error(nil)
	r := &Resolver{
		Run: func(context.Context, []string) (string, error) { calls++; return out, fail },
	}
	config := &Config{Provider: &Provider{APIKeyCommand: []string{"pass"}}}
	e, err := resolveDefault(t, r, config)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if key, err := e.Key(t.Context()); key != "key" || err != nil {
			t.Errorf("key %q, %v", key, err)
		}
	}
	if calls != 1 {
		t.Errorf("the command ran %d times", calls)
	}
	for _, bad := range []func(){func() { out = " \n" }, func() { fail = errors.New("locked") },
		func() { r.Run = nil }} {
		bad()
		e, err := resolveDefault(t, r, config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Key(t.Context()); err == nil {
			t.Error("the error of the key command is missing")
		}
	}
}

func TestExpand(t *testing.T) {
	env := Lookup([]string{"A=1", "B=2=3"})
	for in, want := range map[string]string{"x${A}y": "x1y", "${env:B}": "2=3", "$A ${": "$A ${",
		"${NONE}": ""} {
		if got := Expand(in, env); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestRefusedKey checks what happens after a provider rejects a key that a command printed. If the
// command ran for an earlier call, it runs again immediately. If it ran for this call, it runs
// again for the next call. A key from an environment variable does not change.
func TestRefusedKey(t *testing.T) {
	asked := 0
	r := &Resolver{
		Env: func(string) string { return "from-env" },
		Run: func(context.Context, []string) (string, error) {
			asked++
			return fmt.Sprintf("key-%d\n", asked), nil
		},
	}
	e, err := resolveDefault(
		t,
		r,
		&Config{Provider: &Provider{BaseURL: "https://x/v1", APIKeyCommand: []string{"k"}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := func(key string) {
		t.Helper()
		if got, err := e.Key(t.Context()); err != nil || got != key {
			t.Errorf("key %q, %v; want %q", got, err, key)
		}
	}
	want("key-1")
	if e.Refused("key-1") {
		t.Error("a key that was requested for this call is requested again immediately")
	}
	want("key-2")
	want("key-2")
	for range 2 {
		if !e.Refused("key-2") {
			t.Error("a stored key that was refused is not requested again")
		}
	}
	want("key-3")
	e, err = resolveDefault(t, r, &Config{Provider: &Provider{BaseURL: "https://x/v1"}})
	if err != nil || e.Refused("from-env") {
		t.Errorf("a variable: %v", err)
	}
}

// In a model reference, the part before the slash names a provider only if the settings or the
// built-in names contain it. A reference without a provider belongs to the provider in the model
// setting, unless the provider setting has a base URL.
func TestReference(t *testing.T) {
	corp := map[string]Provider{"corp": {BaseURL: "https://c/v1"}}
	for _, c := range []struct {
		config Config
		ref    string
		want   Reference
	}{
		{Config{}, "m", Reference{Model: "m"}},
		{Config{}, "openai/m", Reference{Provider: "openai", Model: "m"}},
		{Config{}, "qwen/m", Reference{Model: "qwen/m", Unknown: "qwen"}},
		{Config{Providers: corp}, "corp/qwen/m", Reference{Provider: "corp", Model: "qwen/m"}},
		{Config{Model: "corp/a", Providers: corp}, "m", Reference{Provider: "corp", Model: "m"}},
		{Config{Model: "corp/a", Providers: corp}, "qwen/m",
			Reference{Provider: "corp", Model: "qwen/m", Unknown: "qwen"}},
		{Config{Model: "corp/a", Provider: &Provider{BaseURL: "https://r/v1"}, Providers: corp},
			"m", Reference{Model: "m"}},
	} {
		if got := c.config.Reference(c.ref); got != c.want {
			t.Errorf("%+v %q: %+v, want %+v", c.config, c.ref, got, c.want)
		}
	}
}

// If the provider in a reference is unknown, the error names the part before the slash.
func TestUnknownProvider(t *testing.T) {
	c := &Config{Model: "opnai/gpt"}
	_, err := resolveDefault(t, &Resolver{Client: &http.Client{Transport: network{}}}, c)
	if err == nil || !strings.Contains(err.Error(), `"opnai": did you mean openai? Otherwise add`) {
		t.Errorf("error %v", err)
	}
}
