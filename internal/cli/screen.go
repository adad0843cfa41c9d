package cli

import (
	"io"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// screen writes to a terminal. Text from a model, a tool, a provider or a session's title must not
// control the terminal. screen therefore converts invisible characters to escapes such as \x1b.
// Line breaks, tabs, the view's colors and the character that turns a symbol into an emoji stay
// unchanged. In questions, package policy has already converted that character too.
type screen struct{ out io.Writer }

// onScreen returns a safe writer for a terminal. It returns any other writer unchanged.
func onScreen(w io.Writer) io.Writer {
	if isTerminal(w) {
		return screen{w}
	}
	return w
}

// kept matches the characters that a screen does not escape: line breaks, tabs, U+FE0F, which many
// emoji contain, and the colors that paint uses.
var kept = lazyregexp.New("\r?\n|\t|\ufe0f|\x1b\\[(?:0|1|2|31|32|33|36)m")

func (s screen) Write(p []byte) (int, error) {
	var b strings.Builder
	rest := p
	for len(rest) > 0 {
		at := kept().FindIndex(rest)
		if at == nil {
			at = []int{len(rest), len(rest)}
		}
		b.WriteString(visible.Text(string(rest[:at[0]])))
		b.Write(rest[at[0]:at[1]])
		rest = rest[at[1]:]
	}
	if _, err := s.out.Write([]byte(b.String())); err != nil {
		return 0, err
	}
	return len(p), nil
}
