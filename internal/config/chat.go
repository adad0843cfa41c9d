package config

import (
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// noChat matches ids of models that cannot chat. Servers list them together with the others, and
// often first.
var noChat = lazyregexp.New(`(?i)embed|whisper|tts|transcri|speech|audio|realtime|moderation|` +
	`rerank|dall-?e|image|sora|babbage|davinci|minilm|(^|/)bge-`)

// usual is taken where it is listed: providers list old models first.
const usual = "gpt-5"

// ChatModel is the model to use of those that a provider lists where no setting names one, "" if it
// lists none.
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

// Converses reports whether a model is one for conversations, by its name.
func Converses(id string) bool { return !noChat().MatchString(id) }
