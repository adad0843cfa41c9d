package repair_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
)

// pieces splits a text at random rune boundaries.
func pieces(s string, rnd *rand.Rand) (out []string) {
	for len(s) > 0 {
		n := 1 + rnd.IntN(min(len(s), 1+rnd.IntN(40)))
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

// normalized returns the text of a reply that remains after normalization.
func normalized(text string, o repair.Options) string {
	m := message.NewText(message.RoleAssistant, text)
	m.Stop = message.StopEnd
	out, _ := repair.Normalize(m, tools, o)
	return out.TextContent()
}

// checkShown checks that the text shown while streaming equals the text that remains after
// normalization. It returns the number of bytes that were shown before the end of the reply.
func checkShown(t *testing.T, text string, o repair.Options, rnd *rand.Rand) (early int) {
	t.Helper()
	want := normalized(text, o)
	shown := repair.NewShown(o, tools)
	got := ""
	for _, p := range pieces(text, rnd) {
		if got += shown.Add(p); !strings.HasPrefix(want, got) {
			t.Fatalf("of %q\n%q is shown, but the final text is\n%q", text, got, want)
		}
	}
	early = len(got)
	if got += shown.End(); got != want {
		t.Fatalf("of %q\n%q is shown in the end, but the final text is\n%q", text, got, want)
	}
	return early
}

var shownTexts = []string{
	"Prose with a {brace}, [a list](x) and `code {}`.\n\nMore of it, and more.\n",
	"I look.\n\n<tool_call>\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>\n",
	"I look. <tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call> And then?",
	"```go\nfunc main() { <tool> }\n```\nDone.\n```json\n{\"name\":\"read\",\"arguments\":{}}\n```\n",
	"First:\nread {\"path\": \"a\"}", "call: read {\"path\": \"a\"}",
	"The name: x\nname: read\n\narguments: {\"path\":\"a\"}\n",
	"  - tool: bash\nargs: {\"command\": \"ls\"}",
	"Now <tool_calls>\n\n<invoke name=\"read\"></invoke></tool_calls>",
	"[TOOL_CALLS]read[ARGS]{\"path\": \"a\"}",
	"red \x1b[1;31mreads\x1b[0m \x1b]0;title\x07 <tool_\x1b[0mcall>{\"name\":\"read\",\"arguments\":{}}</tool_call>", "Ünï \u009b31mcödé \x1b(B\x1b]", "<|python_tag|>read.call(path=\"a\")",
	"> quoted <tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>\nend",
	"For example:\n{\"name\":\"read\",\"arguments\":{}}\n", "\n\n\n", "", "read",
	"read\n{\"path\":1}", "*read* {}", "``` \nread {}\n",
	"text ```\n{\"name\":\"read\",\"arguments\":{}}\n```", "<", "a<b and c>d, x[0] `y`", "name",
	"tool : read", "Tool: read\nInput: {}",
}

// The text that is shown while a reply streams is identical to the reply's final text.
func TestShown(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	parse := repair.Default()
	parse.FallbackParser = true
	for _, o := range []repair.Options{{}, repair.Default(), parse, {FallbackParser: true}} {
		for _, text := range shownTexts {
			for range 20 {
				checkShown(t, text, o, rnd)
			}
		}
		for range 3000 { // random mixtures of pieces of these texts
			var b strings.Builder
			for range 1 + rnd.IntN(8) {
				s := shownTexts[rnd.IntN(len(shownTexts))]
				if s != "" {
					i := rnd.IntN(len(s))
					b.WriteString(strings.ToValidUTF8(s[i:i+rnd.IntN(len(s)-i+1)], ""))
				}
			}
			checkShown(t, b.String(), o, rnd)
		}
	}
	prose := "This is a sentence of an answer that goes on for a while. It has more than one line, too.\nAnd here is the next one (with (brackets))\n"
	for _, o := range []repair.Options{repair.Default(), parse} {
		if early := checkShown(t, prose, o, rnd); early < len(prose)-20 {
			t.Errorf("prose is delayed: %d of %d bytes are shown before the end", early, len(prose))
		}
	}
}

// FuzzANSIStream checks that an escape sequence that is split anywhere, or never ends, is removed
// in the same way as when the text arrives in one piece.
func FuzzANSIStream(f *testing.F) {
	f.Add("a\x1b[1;31mb\x1b]0;t\x1b\\c\u009b1md\x1bP", uint64(1))
	f.Add("\x1b["+strings.Repeat("1", 300)+"m\x1b]"+strings.Repeat("x", 4096)+"\x1b\\", uint64(2))
	f.Fuzz(func(t *testing.T, s string, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var stream repair.ANSIStream
		got := ""
		for rest := s; rest != ""; {
			n := 1 + rnd.IntN(len(rest))
			got += stream.Add(rest[:n])
			rest = rest[n:]
		}
		if got += stream.End(); got != repair.StripANSI(s) {
			t.Fatalf("%q in pieces is %q, in one %q", s, got, repair.StripANSI(s))
		}
	})
}
