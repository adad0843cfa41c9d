// Package catalog knows the models of many providers: context windows, abilities, thinking levels
// and prices. Its data comes from the module charm.land/catwalk or a newer copy of it (see Read).
// Start at Lookup.
package catalog

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

// Model is the catalog's entry for a model. It does not state whether the model calls tools or how
// long its replies can be.
type Model struct {
	Name   string
	Window int // tokens
	Reply  int // a reply limit in tokens that the model accepts, but not the largest one
	Price  Price
	Vision bool
	// Levels lists the thinking levels that the model accepts, named as in the setting thinking. It
	// is nil if the model does not think.
	Levels []string
	Found  bool
	// Loose reports that only the beginning of the name matched. The price is then unknown.
	Loose bool
}

// HasVision reports whether the model accepts images, or nil if that is unknown.
func (m *Model) HasVision() *bool {
	if !m.Found {
		return nil
	}
	v := m.Vision
	return &v
}

// Lookup finds a model of a provider. provider is the catalog's name for the provider, or "" if
// unknown. If the provider's list does not contain the model, Lookup searches the models of all
// providers.
func Lookup(provider, id string) Model { return get().lookup(provider, id) }

// Endpoint is where a model runs.
type Endpoint struct {
	Provider string // the catalog's name for the provider; "": derived from the host
	Host     string
	Local    bool // a local server
}

// Lookup finds a model of the endpoint. A local server can give its models any name, so the
// beginning of a name is not matched for local servers.
func (e Endpoint) Lookup(id string) Model {
	if e.Provider == "" {
		e.Provider = ProviderAt(e.Host)
	}
	m := Lookup(e.Provider, id)
	if m.Loose && e.Local {
		return Model{}
	}
	return m
}

// ProviderAt returns the catalog's name for the provider at a host, or "" if there is none.
func ProviderAt(host string) string {
	if strings.HasSuffix(host, ".openai.azure.com") {
		return string(catwalk.InferenceProviderAzure)
	}
	return get().hosts[host]
}

// current is the catalog in use, nil until the first lookup.
var current atomic.Pointer[index]

// builtin parses the embedded data, which takes a few milliseconds.
var builtin = sync.OnceValue(func() *index { return newIndex(embedded.GetAll()) })

// Load parses the embedded data in advance, so that the first Lookup need not do it.
func Load() { get() }

func get() *index {
	if x := current.Load(); x != nil {
		return x
	}
	current.CompareAndSwap(nil, builtin())
	return current.Load()
}

// index finds models. It is immutable.
type index struct {
	providers map[string]map[string]*Model // by provider, then by ID and by plain name
	all       map[string]*Model            // by plain name
	hosts     map[string]string            // providers by the host of their endpoint
}

// vendors lists the vendors whose data is preferred for a model of an unknown provider. The makers
// of models come first, followed by the resellers with the most models.
var vendors = []string{
	"anthropic", "openai", "gemini", "xai", "deepseek", "moonshot", "zai", "minimax",
	"alibaba-singapore", "openrouter", "vercel",
}

// vendorHosts maps hosts to providers whose endpoint is a variable in the data.
var vendorHosts = map[string]string{
	"api.anthropic.com": "anthropic", "api.openai.com": "openai",
	"generativelanguage.googleapis.com": "gemini",
}

func newIndex(list []catwalk.Provider) *index {
	x := &index{
		providers: map[string]map[string]*Model{}, all: map[string]*Model{},
		hosts: maps.Clone(vendorHosts),
	}
	rank := func(p catwalk.Provider) int {
		if i := slices.Index(vendors, string(p.ID)); i >= 0 {
			return i
		}
		return len(vendors)
	}
	slices.SortStableFunc(list, func(a, b catwalk.Provider) int { return rank(a) - rank(b) })
	for i := range list {
		x.add(&list[i])
	}
	return x
}

// add adds a provider. Existing entries are kept.
func (x *index) add(p *catwalk.Provider) {
	models := make(map[string]*Model, 2*len(p.Models))
	for i := range p.Models {
		m := modelOf(&p.Models[i])
		for _, name := range []string{strings.ToLower(p.Models[i].ID), plainName(p.Models[i].ID)} {
			if models[name] == nil {
				models[name] = m
			}
		}
		name := plainName(p.Models[i].ID)
		// Copilot uses its own context windows.
		if x.all[name] == nil && p.ID != catwalk.InferenceProviderCopilot {
			x.all[name] = m
		}
	}
	x.providers[string(p.ID)] = models
	if _, rest, ok := strings.Cut(p.APIEndpoint, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		if x.hosts[host] == "" {
			x.hosts[host] = string(p.ID)
		}
	}
}

func modelOf(m *catwalk.Model) *Model {
	return &Model{
		Name: m.Name, Window: int(m.ContextWindow), Reply: int(m.DefaultMaxTokens),
		Price: priceOf(m), Vision: m.SupportsImages, Levels: levelsOf(m), Found: true,
	}
}

// levelsOf returns the thinking levels, named as in the settings. A model that thinks but has no
// levels of its own takes a budget.
func levelsOf(m *catwalk.Model) []string {
	if !m.CanReason {
		return nil
	}
	if len(m.ReasoningLevels) == 0 {
		return []string{"low", "medium", "high"}
	}
	var out []string
	for _, level := range m.ReasoningLevels {
		switch level {
		case "none":
			out = append(out, "off")
		case "minimal", "low", "medium", "high", "xhigh":
			out = append(out, level)
		}
	}
	return out
}

func (x *index) lookup(provider, id string) Model {
	own := x.providers[provider]
	if m := own[strings.ToLower(id)]; m != nil {
		return *m
	}
	name := plainName(id)
	for _, models := range []map[string]*Model{own, x.all} {
		if m := models[name]; m != nil {
			return *m
		}
	}
	for n := strings.LastIndexByte(name, '-'); n > 0; n = strings.LastIndexByte(name[:n], '-') {
		for _, models := range []map[string]*Model{own, x.all} {
			if m := models[name[:n]]; m != nil {
				loose := *m
				loose.Name, loose.Price, loose.Loose = "", Price{}, true
				return loose
			}
		}
	}
	return Model{}
}
