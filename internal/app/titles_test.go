package app

import (
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// The title is clean even if the model decorates it, includes its reasoning or writes too much.
func TestCleanTitle(t *testing.T) {
	for reply, want := range map[string]string{
		"Parser fix":                          "Parser fix",
		"\n \"Parser fix.\"\nBecause …":       "Parser fix",
		"# Title: `Parser   fix`":             "Parser fix",
		"<think>A title…\nHm.</think>\n\nFix": "Fix",
		"<think>never ends":                   "",
		"  \n":                                "",
		"The title:case function":             "The title:case function",
	} {
		if got := cleanTitle(reply); got != want {
			t.Errorf("%q: %q, want %q", reply, got, want)
		}
	}
	if n := len([]rune(cleanTitle(strings.Repeat("word ", 1000)))); n > 100 {
		t.Errorf("a title of %d characters", n)
	}
}

// The model that writes the title receives the first prompt that the user typed and the last
// answer, both shortened.
func TestTitleText(t *testing.T) {
	hidden := message.NewText(message.RoleUser, "context")
	hidden.Hidden = true
	got := titleText([]*message.Message{
		hidden,
		message.NewText(message.RoleUser, "ask"), message.NewText(message.RoleAssistant, "a"),
		message.NewText(message.RoleUser, "more"), message.NewText(message.RoleAssistant, "b"),
	})
	if got != "User: ask\n\nAssistant: b" {
		t.Errorf("%q", got)
	}
	long := message.NewText(message.RoleUser, strings.Repeat("x", 1<<20))
	if n := len(titleText([]*message.Message{long})); n > 2*titleSource {
		t.Errorf("%d bytes", n)
	}
	if got := titleText(nil); got != "" {
		t.Errorf("%q", got)
	}
}
