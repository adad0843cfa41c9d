package search

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestUnicodeWords checks words, digits, white space and word boundaries outside ASCII.
func TestUnicodeWords(t *testing.T) {
	for _, c := range []struct {
		p       Pattern
		yes, no []string
	}{
		{Pattern{Text: `\bпривет\b`}, []string{"привет", "ну, привет!", "«привет»"},
			[]string{"приветик", "неприветлив", "приветé"}},
		{Pattern{Text: `привет`, Word: true}, []string{"привет мир"}, []string{"приветик"}},
		{Pattern{Text: `\bпривет\b`, IgnoreCase: true}, []string{"ПРИВЕТ"}, []string{"ПРИВЕТЫ"}},
		{Pattern{Text: `\bfoo\b`}, []string{"foo", "foo→bar", "“foo”"},
			[]string{"éfoo", "fooé", "foo\u0301", "foo\u200dbar"}},
		{Pattern{Text: `foo\B`}, []string{"fooé"}, []string{"foo", "foo é"}},
		{Pattern{Text: `^\w+$`}, []string{"größe", "日本語", "a_1", "e\u0301"},
			[]string{"a b", "a→b", ""}},
		{Pattern{Text: `^[\w-]+$`}, []string{"größe-1"}, []string{"größe 1"}},
		{Pattern{Text: `^\W$`}, []string{"→", " "}, []string{"é", "a"}},
		{Pattern{Text: `^\d$`}, []string{"1", "٣"}, []string{"²", "a"}},
		{Pattern{Text: `^a\sb$`}, []string{"a b", "a\u00a0b", "a\u3000b", "a\tb", "a\vb"},
			[]string{"a\u200bb"}},
		{Pattern{Text: `\Q\w\E\w`}, []string{`\wé`}, []string{`éé`}},
		{Pattern{Text: `[]\w]x`}, []string{"]x", "éx"}, []string{"→x"}},
		{Pattern{Text: `[[:alpha:]\d]x`}, []string{"ax", "٣x"}, []string{"éx"}},
		{Pattern{Text: `[^\w]x`}, []string{"→x"}, []string{"éx"}},
		{Pattern{Text: `\\w`}, []string{`\w`}, []string{"éa"}},
	} {
		s := compile(t, c.p).scanner()
		for _, line := range c.yes {
			if !s.match([]byte(line)) {
				t.Errorf("%q should match %q", c.p.Text, line)
			}
		}
		for _, line := range c.no {
			if s.match([]byte(line)) {
				t.Errorf("%q should not match %q", c.p.Text, line)
			}
		}
	}
}

// TestSimulation checks that, for patterns that both support, the automaton's simulation gives the
// same result as the regexp package.
func TestSimulation(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	patterns := []string{
		`\bab\b`,
		`a\B`,
		`^\b`,
		`\b$`,
		`(a|\bb)+_`,
		`x*\by`,
		`^(a|b)*\b-`,
		`\B\B`,
		`\ba|\b$`,
	}
	for range 5_000 {
		var b strings.Builder
		for range rnd.IntN(12) {
			b.WriteByte("ab_- xy"[rnd.IntN(7)])
		}
		line := []byte(b.String())
		for _, p := range patterns {
			s := compile(t, Pattern{Text: p}).scanner()
			if got, want := s.dfa.simulate(line), s.m.re.Match(line); got != want {
				t.Fatalf("%s in %q: %v, want %v", p, line, got, want)
			}
		}
	}
}
