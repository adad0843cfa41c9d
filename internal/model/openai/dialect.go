package openai

import (
	"net/url"
	"strings"
)

// Dialect names what a provider understands beside the common part of the chat API.
type Dialect string

// The dialects. Compatible is the common part alone, for servers that are not known.
const (
	OpenAI     Dialect = "openai"
	Azure      Dialect = "azure"
	Anthropic  Dialect = "anthropic"
	Gemini     Dialect = "gemini"
	OpenRouter Dialect = "openrouter"
	DeepSeek   Dialect = "deepseek"
	Mistral    Dialect = "mistral"
	Ollama     Dialect = "ollama"
	Local      Dialect = "local" // llama-server, vLLM, LM Studio
	Compatible Dialect = "compatible"
)

// hostDialects maps the end of a host name to its dialect.
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

// DialectOf tells the dialect of an endpoint by its host, and of a local server by its usual port.
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

// samplers says whether top_k, min_p and repetition_penalty are known.
func (d Dialect) samplers() bool {
	switch d {
	case OpenRouter, Ollama, Local, Compatible:
		return true
	}
	return false
}

// streamUsage says whether stream_options may be sent; Mistral sends usage anyway and refuses the
// field.
func (d Dialect) streamUsage() bool { return d != Mistral }

// derivesLimit says whether a limit on the output is sent that nobody set: Anthropic wants
// one, the others' own is small or none at all. OpenAI and Azure count it against the rate
// limit before a word is said; Gemini, Mistral and local servers take what the model and the
// window have.
func (d Dialect) derivesLimit() bool {
	switch d {
	case Anthropic, DeepSeek, OpenRouter, Ollama, Compatible:
		return true
	}
	return false
}

// cacheControl says whether Anthropic's cache marks are understood for the model.
func (d Dialect) cacheControl(model string) bool {
	return d == OpenRouter && strings.Contains(strings.ToLower(model), "claude")
}

// cacheKey says whether prompt_cache_key is known.
func (d Dialect) cacheKey() bool { return d == OpenAI || d == Azure }

// replaysThought says whether the reasoning text itself goes back with the messages.
func (d Dialect) replaysThought() bool { return d == DeepSeek }
