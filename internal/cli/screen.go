package cli

import (
	"io"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// screen writes to a terminal. What a model, a tool, a provider or a session's title contains must
// not control the terminal, so characters that the user does not see become escapes such as \x1b.
// Line ends, tabs and the colours of the view stay.
type screen struct{ out io.Writer }

// onScreen returns a writer that is safe for a terminal; another one stays as it is.
func onScreen(w io.Writer) io.Writer {
	if isTerminal(w) {
		return screen{w}
	}
	return w
}

// kept is what a screen does not escape: line ends, tabs and the colours that paint uses.
var kept = lazyregexp.New("\r?\n|\t|\x1b\\[(?:0|1|2|31|32|33|36)m")

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
