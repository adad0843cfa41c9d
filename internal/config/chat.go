package config

import (
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// noChat matches the IDs of models that cannot chat. Servers list them together with the others,
// and often first.
var noChat = lazyregexp.New(`(?i)embed|whisper|tts|transcri|speech|audio|realtime|moderation|` +
	`rerank|dall-?e|image|sora|babbage|davinci|minilm|(^|/)bge-`)

// usual are the models that are preferred if a provider lists them, because providers list old
// models first.
const usual = "gpt-5"

// ChatModel returns the model to use among the models that a provider lists if no setting names
// one. It returns "" if the list has none.
func ChatModel(ids []string) string {
	if slices.Contains(ids, usual) {
		return usual
	}
	for _, id := range ids {
		if Converses(id) {
			return id
		}
	}
	if len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// Converses reports whether a model is intended for conversations, judging by its name.
func Converses(id string) bool { return !noChat().MatchString(id) }
