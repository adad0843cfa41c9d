package config

import (
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// noChat matches the IDs of models that cannot chat. Servers list such models together with chat
// models, and often first.
var noChat = lazyregexp.New(`(?i)embed|whisper|tts|transcri|speech|audio|realtime|moderation|` +
	`rerank|dall-?e|image|sora|babbage|davinci|minilm|(^|/)bge-`)

// usual is the model that is chosen if a provider lists it. Choosing the first listed model would
// often select an old one.
const usual = "gpt-5"

// ChatModel returns the model to use among the models that a provider lists if no setting names
// one. It returns "" for an empty list.
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

// Converses reports whether a model's ID looks like that of a model for conversations.
func Converses(id string) bool { return !noChat().MatchString(id) }
