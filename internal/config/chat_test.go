package config

import "testing"

func TestChatModel(t *testing.T) {
	for _, c := range []struct {
		ids  []string
		want string
	}{
		{nil, ""},
		{[]string{"tiny", "other"}, "tiny"},
		{[]string{"nomic-embed-text:latest", "qwen3-coder:30b"}, "qwen3-coder:30b"},
		{[]string{"text-embedding-nomic-embed-text-v1.5", "bge-m3", "all-minilm", "llama"},
			"llama"},
		{[]string{"gpt-4-0613", "whisper-1", "gpt-5", "gpt-5-mini"}, "gpt-5"},
		{[]string{"whisper-1", "tts-1-hd", "dall-e-3", "gpt-4o-realtime-preview",
			"omni-moderation-latest", "gpt-image-1", "gpt-4.1"}, "gpt-4.1"},
		{[]string{"nomic-embed-text"}, "nomic-embed-text"},
	} {
		if got := ChatModel(c.ids); got != c.want {
			t.Errorf("%v: %q, want %q", c.ids, got, c.want)
		}
	}
}
