package app

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// list returns the models of all usable providers: the default provider, the providers in the
// setting `providers`, and the hosted built-in providers that have a key. A provider that does not
// answer is omitted. If no provider answers, list returns the error of the default provider.
func (p *providers) list(ctx context.Context, c *config.Config) ([]wire.Model, error) {
	home := c.DefaultProvider()
	names := []string{home}
	for _, name := range p.usable(c) {
		if name != home {
			names = append(names, name)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	lists, errs := make([][]wire.Model, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { lists[i], errs[i] = p.listOne(ctx, c, name, name == home) })
	}
	wg.Wait()
	all := slices.Concat(lists...)
	if len(all) == 0 {
		return nil, errs[0]
	}
	return all, nil
}

// listOf returns the models of the named provider. This may also be the built-in provider that is
// equivalent to the default provider.
func (p *providers) listOf(
	ctx context.Context, c *config.Config, name string,
) ([]wire.Model, error) {
	home := c.DefaultProvider()
	if _, configured := c.Providers[name]; !configured && home == "" && name == c.UnnamedBuiltin() {
		name = home
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	return p.listOne(ctx, c, name, name == home)
}

// listModels returns the models of the named provider, or of all usable providers if the name is
// "".
func (d *daemon) listModels(ctx context.Context, provider string) ([]wire.Model, error) {
	c := d.settings.config()
	d.providers.catalog.load(c)
	if provider == "" {
		return d.providers.list(ctx, c)
	}
	if names := c.ProviderNames(); !slices.Contains(names, provider) {
		return nil, agentapi.Invalid("provider", "there is no provider named %q; the configured providers are %s",
			provider, strings.Join(names, ", "))
	}
	return d.providers.listOf(ctx, c, provider)
}

// usable returns the names of the providers that the user has set up. It omits a built-in provider
// that is the same as the default provider.
func (p *providers) usable(c *config.Config) []string {
	if p.script != nil {
		return slices.Sorted(maps.Keys(c.Providers))
	}
	return slices.DeleteFunc(c.ProviderNames(), func(name string) bool {
		_, configured := c.Providers[name]
		twice := c.DefaultProvider() == "" && name == c.UnnamedBuiltin()
		return !configured && (twice || !p.resolver.HasKey(c, name))
	})
}

// listOne returns the models of one provider without those that cannot hold a conversation, such as
// embedding models.
func (p *providers) listOne(
	ctx context.Context,
	c *config.Config,
	name string,
	home bool,
) ([]wire.Model, error) {
	e, err := p.find(ctx, c, config.Reference{Provider: name})
	if err != nil {
		return nil, err
	}
	infos, err := p.model(e, c, "").Models(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Model, 0, len(infos))
	asks := mayReport(e) && p.script == nil
	for _, m := range infos {
		if config.Converses(m.ID) {
			asks = asks && len(out) < maxReports && p.reported(ctx, e, &m)
			w := listedModel(e, c, m)
			if !home {
				w.ID = name + "/" + m.ID
			}
			out = append(out, w)
		}
	}
	return out, nil
}

// listedModel combines what the settings, the server and the catalog report about a model.
func listedModel(e *config.Endpoint, c *config.Config, m agent.ModelInfo) wire.Model {
	known := catalog.Endpoint{
		Provider: catalogName(e), Host: hostOf(e.BaseURL), Local: unpriced(e),
	}.Lookup(m.ID)
	w := wire.Model{
		ID: m.ID, Provider: e.Name, Name: firstOf(m.Name, known.Name),
		ContextWindow: m.ContextWindow, MaxOutput: m.MaxOutput,
		Vision: m.Vision, Tools: m.Tools, Thinking: m.Thinking, Source: "server",
	}
	if known.Found && !m.Reported {
		w.Source = "catalog"
	}
	if n := windowOf(c, e.ID, m.ID); n > 0 {
		w.ContextWindow, w.Source = n, "settings"
	}
	price, set := prices(c, e.ID, m.ID)[m.ID]
	switch {
	case set:
		w.Source = "settings"
	case unpriced(e):
	case m.Price != nil:
		price = catalog.Price(*m.Price)
	default:
		price = known.Price
	}
	if price != (catalog.Price{}) {
		w.Cost = &wire.ModelCost{
			Input: price.Input, Output: price.Output,
			CacheRead: price.CacheRead, CacheWrite: price.CacheWrite,
		}
	}
	return w
}

// catalogName returns the catalog's name for a built-in provider, even if its base URL was changed.
// It returns "" for other providers.
func catalogName(e *config.Endpoint) string {
	if config.Hosted(e.ID) {
		return e.ID
	}
	return ""
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// withoutUser removes the user name and password from a URL.
func withoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	u.User = nil
	return u.String()
}

// unpriced reports whether the catalog's prices do not apply to a provider, because the provider is
// a local server. This does not depend on the names of its models.
func unpriced(e *config.Endpoint) bool {
	if config.Hosted(e.ID) {
		return false
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// status returns the configuration of the provider, without using the network.
func (p *providers) status(c *config.Config) wire.ProviderStatus {
	if p.script != nil {
		return wire.ProviderStatus{
			Configured: true,
			BaseURL:    p.script.URL(),
			Model:      "script",
			Source:     "script",
		}
	}
	name := c.DefaultProvider()
	settings := c.ProviderSettings(name, p.resolver.Env)
	p.mu.Lock()
	known := p.endpoints[endpointKey(name, settings)]
	p.mu.Unlock()
	st := wire.ProviderStatus{Model: c.Model}
	if e := known; e != nil {
		st.Configured, st.BaseURL, st.Source = true, withoutUser(e.BaseURL), e.Name
		st.Model = firstOf(st.Model, e.Model)
		return st
	}
	e, err := p.offline(c)
	var unset *config.NotConfiguredError
	switch {
	case err == nil:
		st.Configured, st.BaseURL, st.Source = true, withoutUser(e.BaseURL), e.Name
	case errors.As(err, &unset):
		st.Hint = unset.Hint
	}
	return st
}

// offline resolves the default provider without the network, so it does not find a local server.
func (p *providers) offline(c *config.Config) (*config.Endpoint, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return p.resolver.Resolve(ctx, c, config.Reference{Provider: c.DefaultProvider()})
}

// maxReports is the maximum number of models of one server that are queried individually.
const maxReports = 32

// reported adds a local server's report about a listed model. It returns false if the server
// reports nothing.
func (p *providers) reported(ctx context.Context, e *config.Endpoint, m *agent.ModelInfo) bool {
	said, recent := p.reports.get(e.BaseURL, m.ID)
	if !recent {
		said = p.ask(ctx, e, serverKind(e), m.ID)
		p.reports.put(e.BaseURL, m.ID, said)
	}
	said.apply(m)
	return said != serverReport{}
}

// mayReport reports whether a server may provide more than its list of models. This applies to
// llama-server, to Ollama, and to local servers of an unknown kind. A server that was found by
// probing is asked only for the list.
func mayReport(e *config.Endpoint) bool {
	if e.Local || e.Provider.API == config.APIAnthropic || e.Provider.API == config.APIGemini {
		return false
	}
	kind := serverKind(e)
	return kind == "" && unpriced(e) || kind == "llama-server" || kind == "ollama"
}
