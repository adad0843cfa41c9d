package cli

import (
	"bytes"
	"testing"

	"github.com/creack/pty"
)

// TestNothingControlsTheTerminal checks that text from a model or a provider cannot control the
// terminal. Only the color sequences that the view uses, tabs, line breaks and the selector of
// emoji are written unchanged. All other invisible characters are escaped.
func TestNothingControlsTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain äö 語\n\tx\r\n":                "plain äö 語\n\tx\r\n",
		"\x1b]52;c;cm0gLXJmIC8=\x07":         `\x1b]52;c;cm0gLXJmIC8=\x07`,
		"\x1b[8mhidden\x1b[0m":               "\\x1b[8mhidden\x1b[0m",
		"\x1b[1mtitle\x1b[0m \x1b[31m✗":      "\x1b[1mtitle\x1b[0m \x1b[31m✗",
		"a\rb\b\x7f":                         `a\x0db\x08\x7f`,
		"\u26a0\ufe0f careful":               "\u26a0\ufe0f careful",
		"\u009b2J\u202e\u200b":               `\x9b2J\u202e\u200b`,
		"\x1b[31;8m\x1b[2J\x1bP\x1b\\\x1b[m": `\x1b[31;8m\x1b[2J\x1bP\x1b\\x1b[m`,
	} {
		var b bytes.Buffer
		n, err := screen{&b}.Write([]byte(text))
		if err != nil || n != len(text) || b.String() != want {
			t.Errorf("%q: %d %v %q, want %q", text, n, err, b.String(), want)
		}
	}
	var b bytes.Buffer
	if onScreen(&b) != &b {
		t.Error("output to a file or pipe is changed too")
	}
	user, terminal, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer user.Close()
	defer terminal.Close()
	w := onScreen(terminal)
	if _, ok := w.(screen); !ok || !isTerminal(w) {
		t.Errorf("output to a terminal is not changed: %T", w)
	}
}
