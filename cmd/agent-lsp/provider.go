package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/openai"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/script"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/settings"
)

// resolveTimeout bounds the search for a provider and the question for its models.
const resolveTimeout = 5 * time.Second

// providers makes models of settings and keeps them, so that connections, certificates and encodings
// outlive a call. Safe for concurrent use.
type providers struct {
	resolver *settings.Resolver
	script   *script.Server // plays instead of any provider, nil: none

	mu        sync.Mutex
	models    map[string]*openai.Model
	endpoints map[string]*settings.Endpoint
}

// newProviders returns providers; scriptFile, where set, names the scripted model.
func newProviders(resolver *settings.Resolver, scriptFile string) (*providers, error) {
	p := &providers{resolver: resolver, models: map[string]*openai.Model{}, endpoints: map[string]*settings.Endpoint{}}
	if scriptFile == "" {
		return p, nil
	}
	f, err := os.Open(scriptFile)
	if err != nil {
		return nil, fmt.Errorf("opening the scripted model that --script or AGENT_LSP_SCRIPT names: %w", err)
	}
	defer f.Close()
	s, err := script.Load(f)
	if err != nil {
		return nil, fmt.Errorf("reading the scripted model %s: %w", scriptFile, err)
	}
	if p.script, err = script.Serve(s); err != nil {
		return nil, err
	}
	return p, nil
}

// endpoint finds the provider of a configuration; what was found stays found.
func (p *providers) endpoint(ctx context.Context, c *wire.Config) (*settings.Endpoint, error) {
	if p.script != nil && !asksForKey(c) {
		return &settings.Endpoint{Name: "script", BaseURL: p.script.URL(), Model: "script", Local: true}, nil
	}
	key := fingerprint(c.Provider)
	p.mu.Lock()
	e := p.endpoints[key]
	p.mu.Unlock()
	if e == nil {
		ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
		defer cancel()
		var err error
		if e, err = p.resolve(ctx, c); err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.endpoints[key] = e
		p.mu.Unlock()
	}
	return e, nil
}

// asksForKey says whether a command prints the key: a script is asked with it as any provider is.
func asksForKey(c *wire.Config) bool { return c.Provider != nil && len(c.Provider.APIKeyCommand) > 0 }

func (p *providers) resolve(ctx context.Context, c *wire.Config) (*settings.Endpoint, error) {
	if p.script == nil {
		return p.resolver.Resolve(ctx, c)
	}
	to := *c.Provider
	to.BaseURL = p.script.URL()
	e, err := p.resolver.Resolve(ctx, &wire.Config{Provider: &to})
	if err == nil {
		e.Name, e.Model = "script", "script"
	}
	return e, err
}

// chain returns the configured model and its fallbacks.
func (p *providers) chain(ctx context.Context, c *wire.Config) ([]agent.Model, error) {
	e, err := p.endpoint(ctx, c)
	if err != nil {
		return nil, err
	}
	first := c.Model
	if first == "" || p.script != nil {
		first = e.Model
	}
	if first == "" {
		if first, err = p.firstModel(ctx, e, c); err != nil {
			return nil, err
		}
	}
	out := []agent.Model{p.model(e, c, first)}
	for _, id := range c.FallbackModels {
		out = append(out, p.model(e, c, id))
	}
	return out, nil
}

// named returns the model of that id at the session's endpoint; a script answers for every model.
func (p *providers) named(ctx context.Context, c *wire.Config, id string) (agent.Model, error) {
	e, err := p.endpoint(ctx, c)
	if err != nil {
		return nil, err
	}
	return p.model(e, c, id), nil
}

// embeddings returns the model that embeds texts: the provider's, or that of another endpoint, which gets key alone.
func (p *providers) embeddings(ctx context.Context, c *wire.Config, e wire.Embeddings, key string) (*openai.Model, error) {
	if e.BaseURL == "" {
		at, err := p.endpoint(ctx, c)
		if err != nil {
			return nil, err
		}
		return p.model(at, c, e.Model), nil
	}
	id := "embeddings\x00" + e.BaseURL + "\x00" + e.Model + "\x00" + e.APIKeyEnv
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.models[id] == nil {
		o := openai.Options{BaseURL: e.BaseURL, Model: e.Model}
		if key != "" {
			o.Key = func(context.Context) (string, error) { return key, nil }
		}
		p.models[id] = openai.New(o)
	}
	return p.models[id], nil
}

// firstModel asks a provider for its models where the settings name none.
func (p *providers) firstModel(ctx context.Context, e *settings.Endpoint, c *wire.Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	list, err := p.model(e, c, "").Models(ctx)
	if err != nil {
		problem, hint := parted(err, "set model or OPENAI_MODEL")
		if e := retry.As(err); e != nil && e.Kind == retry.Client {
			hint += ", or set model or OPENAI_MODEL" // a server without a list may answer all the same
		}
		return "", &settings.NotConfiguredError{Reason: "no model is set, and " + e.Name + " does not say which it has: " + problem, Hint: hint}
	}
	if len(list) == 0 {
		return "", &settings.NotConfiguredError{Reason: e.Name + " offers no model", Hint: "load a model there, or set model or OPENAI_MODEL"}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found := *e
	found.Model = settings.ChatModel(idsOf(list, func(m agent.ModelInfo) string { return m.ID }))
	p.endpoints[fingerprint(c.Provider)] = &found
	return found.Model, nil
}

// parted is what an error of the provider says is wrong, and what to do: otherwise, where it does not say that.
func parted(err error, otherwise string) (problem, hint string) {
	if e := retry.As(err); e != nil && e.Hint != "" {
		return strings.TrimSuffix(err.Error(), " ("+e.Hint+")"), e.Hint
	}
	return err.Error(), otherwise
}

// idsOf are the ids of models, as id reads them.
func idsOf[M any](list []M, id func(M) string) (ids []string) {
	for _, m := range list {
		ids = append(ids, id(m))
	}
	return ids
}

// model returns the model of that id at that endpoint.
func (p *providers) model(e *settings.Endpoint, c *wire.Config, id string) *openai.Model {
	key := e.BaseURL + "\x00" + id + "\x00" + fingerprint([]any{c.Provider, c.Prices, c.Windows, window(c)})
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.models[key]
	if m == nil {
		m = openai.New(modelOptions(e, c, id, p.script != nil))
		p.models[key] = m
	}
	return m
}

func modelOptions(e *settings.Endpoint, c *wire.Config, id string, scripted bool) openai.Options {
	o := openai.Options{
		BaseURL: e.BaseURL, Model: id, Provider: e.Name, Key: e.Key, KeyRefused: e.Refused,
		ContextWindow: windowOf(c, id), Prices: prices(c, id),
	}
	if asked := c.Provider; asked != nil {
		o.API, o.DeferLoading, o.NoStream = asked.API, asked.DeferLoading, asked.Stream != nil && !*asked.Stream
		o.IdleTimeout = time.Duration(asked.IdleTimeoutMs) * time.Millisecond
	}
	if scripted {
		return o
	}
	o.Organization, o.Headers, o.Query = e.Provider.Organization, e.Provider.Headers, e.Provider.Query
	o.IdleTimeout = time.Duration(e.Provider.IdleTimeoutMs) * time.Millisecond
	return o
}

// window is the window that the context's settings name, 0 where they name none.
func window(c *wire.Config) int {
	if c.Context == nil {
		return 0
	}
	return c.Context.Window
}

func windowOf(c *wire.Config, id string) int {
	if w := window(c); w > 0 {
		return w
	}
	w, _ := lookupGlob(c.Windows, id)
	return w
}

// prices are what the settings say of a model's price, by its id or a glob.
func prices(c *wire.Config, id string) map[string]openai.Price {
	p, ok := lookupGlob(c.Prices, id)
	if !ok {
		return nil
	}
	return map[string]openai.Price{id: {Input: p.Input, Output: p.Output, CacheRead: p.Cached, CacheWrite: p.CacheWrite}}
}

// list returns the models that the provider offers.
func (p *providers) list(ctx context.Context, c *wire.Config) ([]wire.Model, error) {
	e, err := p.endpoint(ctx, c)
	if err != nil {
		return nil, err
	}
	infos, err := p.model(e, c, "").Models(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Model, len(infos))
	for i, m := range infos {
		out[i] = wire.Model{ID: m.ID, ContextWindow: m.ContextWindow, Vision: m.Vision, Tools: m.Tools}
	}
	return out, nil
}

// status says what is configured, without touching the network.
func (p *providers) status(c *wire.Config) wire.ProviderStatus {
	if p.script != nil {
		return wire.ProviderStatus{Configured: true, BaseURL: p.script.URL(), Model: "script", Source: "script"}
	}
	p.mu.Lock()
	e := p.endpoints[fingerprint(c.Provider)]
	p.mu.Unlock()
	st := wire.ProviderStatus{Model: c.Model}
	if e != nil {
		st.Configured, st.BaseURL, st.Source = true, withoutUser(e.BaseURL), e.Name
		if st.Model == "" {
			st.Model = e.Model
		}
		return st
	}
	if c.Provider != nil && c.Provider.BaseURL != "" {
		st.Configured, st.BaseURL, st.Source = true, withoutUser(c.Provider.BaseURL), "settings"
	}
	return st
}

// withoutUser takes a name and password out of a URL.
func withoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	u.User = nil
	return u.String()
}

// Close ends what the models hold.
func (p *providers) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.models {
		_ = m.Close()
	}
	if p.script != nil {
		_ = p.script.Close()
	}
}

// fingerprint is a value's encoding, to tell settings apart.
func fingerprint(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// flat takes the slashes out of names, so that the star of a glob passes over them.
var flat = strings.NewReplacer("/", "\x01")

// lookupGlob returns the value of a name: an exact key wins, then the longest glob that fits.
func lookupGlob[V any](m map[string]V, name string) (V, bool) {
	if v, ok := m[name]; ok {
		return v, true
	}
	var best string
	var out V
	found := false
	for pattern, v := range m {
		if strings.ContainsAny(pattern, "*?[") && globMatch(flat.Replace(pattern), flat.Replace(name)) && len(pattern) > len(best) {
			best, out, found = pattern, v, true
		}
	}
	return out, found
}
