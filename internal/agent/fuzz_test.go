package agent

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// FuzzWholeRunes checks that deltas may be cut at any byte. The pieces must add up to the whole
// text, with invalid UTF-8 replaced.
func FuzzWholeRunes(f *testing.F) {
	f.Add("a\xe4\xb8\xadb", 2)
	f.Add("\xff\xf0\x9f", 1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		var got strings.Builder
		rest := ""
		for at, step := 0, max(1, n%7); at < len(s); at += step {
			var whole string
			whole, rest = wholeRunes(rest + s[at:min(len(s), at+step)])
			if !utf8.ValidString(whole) {
				t.Fatalf("%q is not valid", whole)
			}
			got.WriteString(whole)
		}
		got.WriteString(message.ValidUTF8(rest))
		if got.String() != message.ValidUTF8(s) {
			t.Errorf("%q in pieces is %q", s, got.String())
		}
	})
}
