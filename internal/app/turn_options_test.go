package app

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/config"
)

// The options of a turn override the settings but do not change them. References without a provider
// still belong to the provider of the model in the settings.
func TestWithOptions(t *testing.T) {
	set := config.Config{
		Model: "anthropic/claude-opus-5", Thinking: "high",
		Sampling: &config.Sampling{MaxTokens: 500, Temperature: new(.5), TopK: 3},
	}
	if got := withOptions(set, nil); got.Model != set.Model || got.Sampling != set.Sampling {
		t.Errorf("without options: %+v", got)
	}
	got := withOptions(set, &agent.TurnOptions{
		Model: "openai/gpt-5.1", Thinking: "off", MaxTokens: 7, Temperature: new(0.), TopP: .2,
	})
	s := got.Sampling
	if got.Thinking != "off" ||
		s.MaxTokens != 7 || *s.Temperature != 0 || s.TopP != .2 || s.TopK != 3 {
		t.Errorf("with options: %+v %+v", got, s)
	}
	if set.Sampling.MaxTokens != 500 || *set.Sampling.Temperature != .5 || set.Thinking != "high" {
		t.Errorf("the settings changed: %+v", set.Sampling)
	}
	for ref, want := range map[string]config.Reference{
		got.Model:       {Provider: "openai", Model: "gpt-5.1"},
		"claude-haiku":  {Provider: "anthropic", Model: "claude-haiku"},
		"gemini/gemini": {Provider: "gemini", Model: "gemini"},
	} {
		if r := got.Reference(ref); r != want {
			t.Errorf("%s: %+v, want %+v", ref, r, want)
		}
	}
}
