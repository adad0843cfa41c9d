package config

import (
	"maps"
	"strings"
)

// Chose reports whether the user chose a provider: their own settings define it, or one of their
// settings names a model of it. A model reference may also come from the workspace, or from a model
// that starts a sub-agent. For settings that no Set has built, it returns true.
func (c *Config) Chose(provider string) bool { return c.chosen == nil || c.chosen[provider] }

// Choosing returns the settings in which the user has chosen the provider of a model reference.
func (c Config) Choosing(ref string) Config {
	if name, _, ok := strings.Cut(ref, "/"); ok && c.chosen != nil {
		c.chosen = maps.Clone(c.chosen)
		c.chosen[name] = true
	}
	return c
}

// unasked reports whether a built-in provider is a local server. Any program can listen on the port
// of such a server.
func unasked(name string) bool {
	p, ok := builtinProviders[name]
	return ok && p.APIKeyEnv == ""
}

// Doubtful reports whether the user did not choose a provider that needs no key, so that it is not
// known which program would get the prompts.
func (c *Config) Doubtful(provider string) bool { return unasked(provider) && !c.Chose(provider) }

// chosenIn returns the providers that the user's own settings define or use.
func chosenIn(own map[string]any) map[string]bool {
	out := map[string]bool{}
	providers, _ := own["providers"].(map[string]any)
	for name := range providers {
		out[name] = true
	}
	add := func(v any) {
		ref, _ := v.(string)
		if name, _, ok := strings.Cut(ref, "/"); ok {
			out[name] = true
		}
	}
	add(own["model"])
	add(own["titleModel"])
	fallbacks, _ := own["fallbackModels"].([]any)
	for _, v := range fallbacks {
		add(v)
	}
	addModel := func(v any) {
		m, _ := v.(map[string]any)
		add(m["model"])
		add(m["summaryModel"])
	}
	addModel(own["context"])
	modes, _ := own["modes"].(map[string]any)
	for _, v := range modes {
		addModel(v)
	}
	agents, _ := own["agents"].([]any)
	for _, v := range agents {
		addModel(v)
	}
	return out
}
