package catalog

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// BaseName returns a model's name in lower case without its vendor ("openai/gpt-4.1" → "gpt-4.1").
func BaseName(model string) string {
	model = strings.ToLower(model)
	return model[strings.LastIndexByte(model, '/')+1:]
}

// release matches the suffix that selects a release of a model: a date or "latest".
var release = lazyregexp.New(`-(latest|20\d{6}|20\d\d-\d\d-\d\d)$`)

// revision matches the suffix that Bedrock appends to the name of a Claude model.
var revision = lazyregexp.New(`-v\d+(-\d+)?$`)

// punctuation unifies the punctuation that providers write differently in the same name.
var punctuation = strings.NewReplacer(".", "-", ":", "-", "@", "-", "_", "-", " ", "-")

// plainName returns a normalized name, which is the same for all providers' spellings of a model's
// name. It is "claude-sonnet-4-5" for "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5-20250929"
// and "us.anthropic.claude-sonnet-4-5-20250929-v1:0".
func plainName(id string) string {
	name := BaseName(id)
	if i := strings.LastIndex(name, "anthropic."); i >= 0 {
		name = name[i+len("anthropic."):]
	}
	name = punctuation.Replace(name)
	if strings.HasPrefix(name, "claude-") && strings.Contains(name, "-v") {
		name = revision().ReplaceAllString(name, "")
	}
	if strings.HasSuffix(name, "latest") || strings.Contains(name, "-20") {
		name = release().ReplaceAllString(name, "")
	}
	return name
}
