// Package catalog contains data about the models of many providers: context windows, capabilities,
// thinking levels and prices. Its data comes from the module charm.land/catwalk or from a newer
// copy of it (see Read). Start at Lookup.
package catalog

import (
	"strings"
	"sync"
	"sync/atomic"
)

// Model is the catalog's entry for a model. It does not state whether the model calls tools or how
// long its replies can be.
type Model struct {
	Name   string
	Window int // in tokens
	Reply  int // in tokens; a reply limit that the model accepts, not necessarily the largest one
	Price  Price
	Vision bool
	// Levels lists the thinking levels that the model accepts, named as in the setting thinking. It
	// is nil if the model does not think.
	Levels []string
	Found  bool
	// Loose is set if only the beginning of the name matched. In that case, the price is unknown.
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

// Endpoint describes the server on which a model runs.
type Endpoint struct {
	Provider string // the catalog's name for the provider; "" means that the host determines it
	Host     string
	Local    bool // whether it is a local server
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

// vendorHosts maps hosts to providers for which the data contains the name of an environment
// variable instead of an endpoint.
var vendorHosts = map[string]string{
	"api.anthropic.com": "anthropic", "api.openai.com": "openai",
	"generativelanguage.googleapis.com": "gemini",
}

// ProviderAt returns the catalog's name for the provider at a host, or "" if there is none.
func ProviderAt(host string) string {
	if strings.HasSuffix(host, ".openai.azure.com") {
		return "azure"
	}
	if provider := vendorHosts[host]; provider != "" || host == "" {
		return provider
	}
	for _, l := range get().lists {
		if l.host == host {
			return l.provider
		}
	}
	return ""
}

// current is the catalog in use. nil means the catalog in the binary.
var current atomic.Pointer[catalog]

var builtin = sync.OnceValue(func() *catalog { return parse(data) })

func get() *catalog {
	if c := current.Load(); c != nil {
		return c
	}
	return builtin()
}

// lookup finds a model by its ID or by another spelling of its name. If there is none, it finds a
// model by the beginning of the name.
func (c *catalog) lookup(provider, id string) Model {
	own := c.of(provider)
	if row := own.find(strings.ToLower(id)); row != "" {
		return modelOf(row)
	}
	name := plainName(id)
	if row := c.find(own, name); row != "" {
		return modelOf(row)
	}
	for n := strings.LastIndexByte(name, '-'); n > 0; n = strings.LastIndexByte(name[:n], '-') {
		if row := c.find(own, name[:n]); row != "" {
			m := modelOf(row)
			m.Name, m.Price, m.Loose = "", Price{}, true
			return m
		}
	}
	return Model{}
}

// of returns a provider's list.
func (c *catalog) of(provider string) list {
	for _, l := range c.lists {
		if l.provider == provider {
			return l
		}
	}
	return list{}
}

// find returns the row of the model whose plain name is name. It first searches the provider's own
// list and then the other lists.
func (c *catalog) find(own list, name string) string {
	if row := own.find(name); row != "" {
		return row
	}
	return c.all.findPlain(name)
}
