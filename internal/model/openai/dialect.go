package openai

import (
	"net/url"
	"strings"
)

// Dialect names a set of features that a provider supports in addition to the common part of the
// chat API.
type Dialect string

// The dialects. Compatible is only the common part, for unknown servers.
const (
	OpenAI     Dialect = "openai"
	Azure      Dialect = "azure"
	Anthropic  Dialect = "anthropic"
	Gemini     Dialect = "gemini"
	OpenRouter Dialect = "openrouter"
	DeepSeek   Dialect = "deepseek"
	Mistral    Dialect = "mistral"
	Ollama     Dialect = "ollama"
	Local      Dialect = "local" // for example llama-server, vLLM and LM Studio
	Compatible Dialect = "compatible"
)

// hostDialects maps host name suffixes to dialects.
var hostDialects = []struct {
	host    string
	dialect Dialect
}{
	{"api.openai.com", OpenAI}, {".openai.azure.com", Azure}, {".services.ai.azure.com", Azure},
	{".cognitiveservices.azure.com", Azure},
	{"api.anthropic.com", Anthropic}, {"generativelanguage.googleapis.com", Gemini},
	{"aiplatform.googleapis.com", Gemini},
	{"openrouter.ai", OpenRouter}, {"api.deepseek.com", DeepSeek}, {"api.mistral.ai", Mistral},
}

// DialectOf returns the dialect of an endpoint, derived from its host or, for a local server, from
// its usual port.
func DialectOf(u *url.URL) Dialect {
	for _, h := range hostDialects {
		if u.Hostname() == strings.TrimPrefix(h.host, ".") ||
			strings.HasSuffix(u.Hostname(), h.host) {
			return h.dialect
		}
	}
	switch u.Port() {
	case "11434":
		return Ollama
	case "8080", "8000", "1234":
		return Local
	}
	return Compatible
}

// samplers reports whether top_k, min_p and repetition_penalty are supported.
func (d Dialect) samplers() bool {
	switch d {
	case OpenRouter, Ollama, Local, Compatible:
		return true
	}
	return false
}

// streamUsage reports whether stream_options may be sent. Mistral refuses the field and sends usage
// anyway.
func (d Dialect) streamUsage() bool { return d != Mistral }

// derivesLimit reports whether to send an output limit if the user sets none. Anthropic requires a
// limit, and the default of some providers is small or zero. OpenAI and Azure count the limit
// against the rate limit before the reply starts. Gemini, Mistral and the servers of the dialect
// Local use whatever the model and the window allow.
func (d Dialect) derivesLimit() bool {
	switch d {
	case Anthropic, DeepSeek, OpenRouter, Ollama, Compatible:
		return true
	}
	return false
}

// cacheControl reports whether Anthropic's cache marks are supported for the model.
func (d Dialect) cacheControl(model string) bool {
	return d == OpenRouter && strings.Contains(strings.ToLower(model), "claude")
}

// cacheKey reports whether prompt_cache_key is supported.
func (d Dialect) cacheKey() bool { return d == OpenAI || d == Azure }

// replaysThought reports whether the reasoning text itself is sent back with the messages.
func (d Dialect) replaysThought() bool { return d == DeepSeek }
