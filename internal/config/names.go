package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// The values of api in a provider's settings.
const (
	APIChat      = "chat"
	APIResponses = "responses"
	APIAnthropic = "anthropic"
	APIGemini    = "gemini"
)

// builtinProviders are the providers that a model reference may name without any settings. A
// provider with a key variable requires a key. Azure has no base URL of its own.
var builtinProviders = map[string]Provider{
	"openai": {BaseURL: "https://api.openai.com/v1", APIKeyEnv: "OPENAI_API_KEY"},
	"anthropic": {
		BaseURL:   "https://api.anthropic.com",
		APIKeyEnv: "ANTHROPIC_API_KEY",
		API:       APIAnthropic,
	},
	"gemini": {
		BaseURL:   "https://generativelanguage.googleapis.com",
		APIKeyEnv: "GEMINI_API_KEY",
		API:       APIGemini,
	},
	"openrouter":   {BaseURL: "https://openrouter.ai/api/v1", APIKeyEnv: "OPENROUTER_API_KEY"},
	"azure":        {APIKeyEnv: "AZURE_OPENAI_API_KEY"},
	"ollama":       {BaseURL: "http://127.0.0.1:11434/v1"},
	"llama-server": {BaseURL: "http://127.0.0.1:8080/v1"},
	"vllm":         {BaseURL: "http://127.0.0.1:8000/v1"},
	"lmstudio":     {BaseURL: "http://127.0.0.1:1234/v1"},
}

// Hosted reports whether a name identifies a built-in provider with published prices.
func Hosted(name string) bool { return builtinProviders[name].APIKeyEnv != "" }

// providerName matches a valid key of providers.
var providerName = lazyregexp.New(`^[a-z0-9][a-z0-9-]*$`)

// builtinName returns the name of the built-in provider that uses the given API.
func builtinName(api string) string {
	switch api {
	case APIAnthropic, APIGemini:
		return api
	}
	return "openai"
}

// UnnamedBuiltin returns the name of the built-in provider that is equivalent to the provider
// without a name. Both have the same key and, unless the settings change it, the same base URL.
func (c *Config) UnnamedBuiltin() string {
	api := ""
	if c.Provider != nil {
		api = c.Provider.API
	}
	return builtinName(api)
}

// ProviderNames returns the names that a model reference may begin with, sorted.
func (c *Config) ProviderNames() []string {
	names := slices.Collect(maps.Keys(c.Providers))
	if !c.hasBaseURL() {
		for name := range builtinProviders {
			if _, configured := c.Providers[name]; !configured {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func (c *Config) hasBaseURL() bool { return c.Provider != nil && c.Provider.BaseURL != "" }

// namesProvider reports whether a model reference may begin with the name.
func (c *Config) namesProvider(name string) bool {
	if _, ok := c.Providers[name]; ok {
		return true
	}
	_, ok := builtinProviders[name]
	return ok && !c.hasBaseURL()
}

// Reference identifies a model of a provider.
type Reference struct {
	Provider string // a key of providers or a built-in name; "" is the provider without a name
	Model    string // "" is a model that the provider lists
	// Unknown is the part before the slash if no provider has that name. The reference then means a
	// model of the default provider, if there is one.
	Unknown string
}

// Reference parses a model reference, "model-id" or "NAME/model-id".
func (c *Config) Reference(ref string) Reference {
	name, model, slash := strings.Cut(ref, "/")
	if slash && c.namesProvider(name) {
		return Reference{Provider: name, Model: model}
	}
	r := Reference{Provider: c.DefaultProvider(), Model: ref}
	if slash {
		r.Unknown = name
	}
	return r
}

// DefaultProvider returns the name of the provider that applies to model references without a
// provider. It is the provider that the model setting names, unless the setting provider has a base
// URL. "" is the provider without a name.
func (c *Config) DefaultProvider() string {
	if c.home != nil {
		return *c.home
	}
	if c.hasBaseURL() {
		return ""
	}
	if name, _, slash := strings.Cut(c.Model, "/"); slash && c.namesProvider(name) {
		return name
	}
	return ""
}

// WithModel returns the settings with another model. The default provider does not change.
func (c Config) WithModel(ref string) Config {
	home := c.DefaultProvider()
	c.home, c.Model = &home, ref
	return c
}

// Borrowed reports whether WithModel has set the model.
func (c *Config) Borrowed() bool { return c.home != nil }

// ProviderSettings returns the settings of a provider by name. For a built-in provider, the entry
// in providers overrides individual fields. For "", it returns the setting provider. env looks up a
// variable.
func (c *Config) ProviderSettings(name string, env func(string) string) Provider {
	var p, home Provider
	if name == "" {
		if c.Provider != nil {
			p = *c.Provider
		}
		return p
	}
	p, home = c.Providers[name], builtinProviders[name]
	if home.BaseURL != "" && name == "openai" {
		home.BaseURL = first(env("OPENAI_BASE_URL"), home.BaseURL)
	}
	p.BaseURL, p.API = first(p.BaseURL, home.BaseURL), first(p.API, home.API, APIChat)
	return p
}

// first returns the first string that is not empty.
func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
