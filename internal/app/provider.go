package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model/anthropic"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
	"github.com/agent-lsp/agent-lsp/internal/model/gemini"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
	"github.com/agent-lsp/agent-lsp/internal/model/script"
)

// resolveTimeout limits the search for a provider and the query for its models.
const resolveTimeout = 5 * time.Second

// providers creates models from settings and caches them, so that connections, certificates and
// encodings are reused. It is safe for concurrent use.
type providers struct {
	resolver *config.Resolver
	script   *script.Server // scripted model that replaces every provider, or nil

	catalog   *modelCatalog
	circuits  circuits
	reports   *reports
	plain     *http.Client  // for requests to local servers
	local     *localServers // nil in a Probe, which sends no prompts
	mu        sync.Mutex
	models    map[string]endpointModel
	embedders map[string]*openai.Model // models of the endpoints in memory.embeddings.baseUrl
	endpoints map[string]*config.Endpoint
}

// endpointModel is a model with any API.
type endpointModel interface {
	agent.Model
	Models(ctx context.Context) ([]agent.ModelInfo, error)
	Close() error
}

// newProviders creates the providers. scriptFile is the file of the scripted model, or "" if there
// is none. cache is the folder for the copy of the catalog.
func newProviders(resolver *config.Resolver, scriptFile, cache string) (*providers, error) {
	p := &providers{
		resolver:  resolver,
		models:    map[string]endpointModel{},
		embedders: map[string]*openai.Model{},
		endpoints: map[string]*config.Endpoint{},
		reports:   newReports(),
		catalog:   newModelCatalog(cache, nil),
		plain: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // do not send the key to another address
		}},
	}
	if scriptFile == "" {
		return p, nil
	}
	f, err := os.Open(scriptFile)
	if err != nil {
		return nil, fmt.Errorf(
			"opening the scripted model that --script or AGENT_LSP_SCRIPT names: %w",
			err,
		)
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

// reference identifies a model of an endpoint.
type reference struct {
	at *config.Endpoint
	id string // ID of the model; "" means a model that the endpoint lists
}

// refer finds the model and the provider of a model reference.
func (p *providers) refer(ctx context.Context, c *config.Config, ref string) (reference, error) {
	r := c.Reference(ref)
	e, err := p.find(ctx, c, r)
	if err != nil {
		return reference{}, err
	}
	if p.script != nil && ref == c.Model && r.Provider == "" && !c.Borrowed() {
		r.Model = "script" // the script answers for the setting "model"
	}
	return reference{e, firstOf(r.Model, e.Model)}, nil
}

// resolved finds the provider of a reference and caches the result.
func (p *providers) resolved(
	ctx context.Context,
	c *config.Config,
	r config.Reference,
) (*config.Endpoint, error) {
	settings := c.ProviderSettings(r.Provider, p.resolver.Env)
	if p.script != nil && len(settings.APIKeyCommand) == 0 {
		return p.scripted(r, settings), nil
	}
	key := endpointKey(r.Provider, settings)
	p.mu.Lock()
	e := p.endpoints[key]
	p.mu.Unlock()
	if e != nil {
		return e, nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	e, err := p.resolve(ctx, c, r, settings)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endpoints[key] = e
	return e, nil
}

func endpointKey(name string, settings config.Provider) string {
	return name + "\x00" + fingerprint(settings)
}

// endpoint finds the provider for the setting `model`.
func (p *providers) endpoint(ctx context.Context, c *config.Config) (*config.Endpoint, error) {
	return p.find(ctx, c, c.Reference(c.Model))
}

// scripted returns the server of the scripted model, which replaces every provider.
func (p *providers) scripted(r config.Reference, settings config.Provider) *config.Endpoint {
	settings.Headers, settings.Query, settings.Organization = nil, nil, ""
	return &config.Endpoint{
		ID: r.Provider, Name: firstOf(r.Provider, "script"), BaseURL: p.script.URL(),
		Model: "script",
		Local: true, Provider: settings,
	}
}

func (p *providers) resolve(
	ctx context.Context,
	c *config.Config,
	r config.Reference,
	settings config.Provider,
) (*config.Endpoint, error) {
	if p.script == nil {
		return p.resolver.Resolve(ctx, c, r)
	}
	settings.BaseURL = p.script.URL()
	asked := &config.Config{Provider: &settings}
	if r.Provider != "" {
		asked.Providers = map[string]config.Provider{r.Provider: settings}
	}
	e, err := p.resolver.Resolve(ctx, asked, r)
	if err == nil {
		e.Name, e.Model = firstOf(r.Provider, "script"), "script"
	}
	return e, err
}

// chain returns the configured model and its fallbacks. A fallback whose provider cannot be used
// stays in the chain, and calling it returns the error.
func (p *providers) chain(ctx context.Context, c *config.Config) ([]agent.Model, error) {
	first, err := p.refer(ctx, c, c.Model)
	if err != nil {
		return nil, err
	}
	if first.id == "" {
		if first.id, err = p.firstModel(ctx, first.at, c); err != nil {
			return nil, err
		}
	}
	p.learn(ctx, first.at, first.id)
	guarded := []*guardedModel{p.guarded(c, first)}
	out := []agent.Model{guarded[0]}
	for _, ref := range c.FallbackModels {
		r, err := p.refer(ctx, c, ref)
		if err != nil {
			out = append(out, unusable{ref, err})
			continue
		}
		p.learn(ctx, r.at, r.id)
		m := p.guarded(c, r)
		for _, before := range guarded {
			before.otherwise = before.otherwise || before.circuit != m.circuit
		}
		guarded, out = append(guarded, m), append(out, m)
	}
	return out, nil
}

// guarded returns the model of a reference behind the circuit breaker of its provider.
func (p *providers) guarded(c *config.Config, r reference) *guardedModel {
	m := &guardedModel{
		Model: p.model(r.at, c, r.id), ref: r.id,
		allowed: func() error { return p.mayPrompt(r.at) },
		circuit: p.circuits.of(r.at.ID+"\x00"+r.at.BaseURL, r.at.Name),
	}
	if r.at.ID != "" {
		m.ref = r.at.ID + "/" + r.id
	}
	return m
}

// unusable is a model whose provider cannot be used.
type unusable struct {
	ref string
	err error
}

func (u unusable) Info() agent.ModelInfo { return agent.ModelInfo{ID: u.ref} }

// Generate returns the reason as an error, so that another fallback may answer.
func (u unusable) Generate(
	context.Context,
	*agent.Request,
	func(agent.Delta),
) (*agent.Reply, error) {
	return nil, notCalled(u.err)
}

// notCalled returns the error for a call that is not made because the model cannot be used until
// the user changes something.
func notCalled(err error) error {
	problem, hint := parted(err, "")
	var unset *config.NotConfiguredError
	if errors.As(err, &unset) {
		problem, hint = unset.Reason, unset.Hint
	}
	why := errors.Join(err, retry.ErrSkipped)
	return &retry.Error{Kind: retry.Auth, Message: problem, Hint: hint, Err: why}
}

// named returns the model of a reference. A script answers for every model.
func (p *providers) named(ctx context.Context, c *config.Config, ref string) (agent.Model, error) {
	r, err := p.refer(ctx, c, ref)
	if err != nil {
		return nil, err
	}
	return p.guarded(c, r), nil
}

// embeddings returns the model that embeds text. It belongs to the default provider or to another
// endpoint. Another endpoint gets no key except the given one.
func (p *providers) embeddings(
	ctx context.Context,
	c *config.Config,
	e config.Embeddings,
	key string,
) (*openai.Model, error) {
	if e.BaseURL == "" {
		at, err := p.find(ctx, c, config.Reference{Provider: c.DefaultProvider()})
		if err == nil {
			err = p.mayPrompt(at)
		}
		if err != nil {
			return nil, err
		}
		m, ok := p.model(at, c, e.Model).(*openai.Model)
		if !ok {
			return nil, errors.New(
				"the provider has no embeddings: set memory.embeddings.baseUrl to an endpoint that supports them",
			)
		}
		return m, nil
	}
	id := e.BaseURL + "\x00" + e.Model + "\x00" + e.APIKeyEnv
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.embedders[id] == nil {
		o := openai.Options{Options: modelhttp.Options{BaseURL: e.BaseURL, Model: e.Model}}
		if key != "" {
			o.Key = func(context.Context) (string, error) { return key, nil }
		}
		p.embedders[id] = openai.New(o)
	}
	return p.embedders[id], nil
}

// firstModel returns the model that config.ChatModel chooses from the provider's list. It is used
// if the settings do not name a model.
func (p *providers) firstModel(
	ctx context.Context,
	e *config.Endpoint,
	c *config.Config,
) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	list, err := p.model(e, c, "").Models(ctx)
	if err != nil {
		problem, hint := parted(err, "set model or OPENAI_MODEL")
		if e := retry.As(err); e != nil && e.Kind == retry.Client {
			// A server without a model list may still answer prompts.
			hint += ", or set model or OPENAI_MODEL"
		}
		return "", &config.NotConfiguredError{
			Reason: "no model is set, and " + e.Name + " did not list its models: " + problem,
			Hint:   hint,
		}
	}
	if len(list) == 0 {
		return "", &config.NotConfiguredError{
			Reason: e.Name + " has no model",
			Hint:   "load a model there, or set model or OPENAI_MODEL",
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found := *e
	found.Model = config.ChatModel(idsOf(list, func(m agent.ModelInfo) string { return m.ID }))
	p.endpoints[endpointKey(e.ID, c.ProviderSettings(e.ID, p.resolver.Env))] = &found
	return found.Model, nil
}

// parted splits an error from the provider into the problem and a hint. If the error contains no
// hint, parted returns its second argument as the hint.
func parted(err error, otherwise string) (problem, hint string) {
	if e := retry.As(err); e != nil && e.Hint != "" {
		return strings.TrimSuffix(err.Error(), " ("+e.Hint+")"), e.Hint
	}
	return err.Error(), otherwise
}

// idsOf returns the IDs of models. id returns the ID of one model.
func idsOf[M any](list []M, id func(M) string) (ids []string) {
	for _, m := range list {
		ids = append(ids, id(m))
	}
	return ids
}

// model returns the model with the given ID at an endpoint.
func (p *providers) model(e *config.Endpoint, c *config.Config, id string) endpointModel {
	said, _ := p.reports.get(e.BaseURL, id)
	key := e.BaseURL + "\x00" + id + "\x00" + fingerprint(
		[]any{e.ID, e.Provider, c.Prices, c.Windows, window(c), said},
	)
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.models[key]
	if m == nil {
		o := modelOptions(e, c, id)
		if o.Scripted = p.script != nil; !o.Scripted {
			o.ModelHint = e.ModelHint(c, id)
		}
		if o.ContextWindow == 0 {
			o.ContextWindow = said.Window
		}
		o.Vision, o.Tools = said.Vision, said.Tools
		m = newAdapter(o)
		p.models[key] = m
	}
	return m
}

// newAdapter creates a model that uses the API of its endpoint.
func newAdapter(o openai.Options) endpointModel {
	switch o.API {
	case config.APIAnthropic:
		return anthropic.New(o.Options)
	case config.APIGemini:
		return gemini.New(o.Options)
	}
	return openai.New(o)
}

func modelOptions(e *config.Endpoint, c *config.Config, id string) openai.Options {
	p := &e.Provider
	return openai.Options{
		Options: modelhttp.Options{
			BaseURL: e.BaseURL, Model: id, Provider: e.Name, Key: e.Key, KeyRefused: e.Refused,
			ContextWindow: windowOf(
				c,
				e.ID,
				id,
			), Prices: prices(c, e.ID, id), Unpriced: unpriced(e), Catalog: catalogName(e),
			DeferLoading: p.DeferLoading, NoStream: p.Stream != nil && !*p.Stream,
			IdleTimeout: time.Duration(p.IdleTimeoutMs) * time.Millisecond,
			Headers:     p.Headers, Query: p.Query,
			Setting: setting(e), KeyHint: e.KeyHint,
		},
		API: p.API, Organization: p.Organization, NativeTools: p.NativeTools,
	}
}

// setting returns the name of the setting that configures the provider.
func setting(e *config.Endpoint) string {
	if e.ID == "" {
		return "provider"
	}
	return "providers." + e.ID
}

// window returns the context window in the settings, or 0 if they specify none.
func window(c *config.Config) int {
	if c.Context == nil {
		return 0
	}
	return c.Context.Window
}

// windowOf returns the context window in the settings for a model of a provider, or 0 if they
// specify none.
func windowOf(c *config.Config, provider, id string) int {
	if w := window(c); w > 0 {
		return w
	}
	w, _ := lookupModel(c.Windows, provider, id)
	return w
}

// lookupModel returns the value for a model in a table of the settings, by the model's reference or
// ID.
func lookupModel[V any](table map[string]V, provider, id string) (V, bool) {
	if provider != "" {
		if v, ok := lookupGlob(table, provider+"/"+id); ok {
			return v, true
		}
	}
	return lookupGlob(table, id)
}

// prices returns the price of a model in the settings as a table with one entry, or nil if the
// settings contain no price.
func prices(c *config.Config, provider, id string) map[string]catalog.Price {
	p, ok := lookupModel(c.Prices, provider, id)
	if !ok {
		return nil
	}
	return map[string]catalog.Price{
		id: {Input: p.Input, Output: p.Output, CacheRead: p.Cached, CacheWrite: p.CacheWrite},
	}
}

// Close releases the resources of the models.
func (p *providers) Close() {
	p.reports.close()
	p.catalog.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.models {
		_ = m.Close()
	}
	for _, m := range p.embedders {
		_ = m.Close()
	}
	if p.script != nil {
		_ = p.script.Close()
	}
}

// fingerprint encodes a value, so that different settings can be distinguished.
func fingerprint(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// flat replaces the slashes in names, so that the star of a glob also matches names that contain
// slashes.
var flat = strings.NewReplacer("/", "\x01")

// lookupGlob returns the value for a name. It uses the exact key or, if there is none, the longest
// matching glob.
func lookupGlob[V any](m map[string]V, name string) (V, bool) {
	if v, ok := m[name]; ok {
		return v, true
	}
	var best string
	var out V
	found := false
	for pattern, v := range m {
		if strings.ContainsAny(pattern, "*?[") &&
			globMatch(flat.Replace(pattern), flat.Replace(name)) &&
			len(pattern) > len(best) {
			best, out, found = pattern, v, true
		}
	}
	return out, found
}
