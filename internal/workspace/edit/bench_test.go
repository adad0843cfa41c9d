package edit

import (
	"bytes"
	"fmt"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/patch"
	"strings"
	"testing"
	"time"
)

const megabyte = 1 << 20

// sourceText returns about n bytes of text that resembles source code and has distinct lines.
func sourceText(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "\tif value%d > limit { // it’s case %d\n\t\treturn compute(value%d)\n\t}\n", i, i, i)
	}
	return b.Bytes()
}

// editOnce performs one complete edit: it matches, computes the hunks and renders a diff.
func editOnce(tb testing.TB, base []byte, e Replace, want Tier) {
	plan, err := Match(base, []Replace{e}, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if got := plan.MaxTier(); got != want {
		tb.Fatalf("tier %s, want %s", got, want)
	}
	after := plan.Apply(base)
	if len(plan.Hunks(base)) == 0 || Unified("a/f", "b/f", base, after, 3) == "" {
		tb.Fatal("no hunk")
	}
}

func BenchmarkEdit1MB(b *testing.B) {
	base := sourceText(megabyte)
	i := bytes.Count(base, []byte("\n")) / 6
	body := fmt.Sprintf("value%d > limit { // it’s case %d\n", i, i)
	for _, c := range []struct {
		name string
		tier Tier
		e    Replace
	}{
		{"T0", T0, Replace{Old: body, New: "value > limit {\n"}},
		{"T2", T2, Replace{Old: "\tif " + strings.TrimSpace(body) + "  \n", New: "\tif x {\n"}},
		{"T3", T3, Replace{Old: "if " + body, New: "if x {\n"}},
		{"T4", T4, Replace{Old: strings.ReplaceAll("if "+body, "’", "'"), New: "if x {\n"}},
	} {
		if c.tier == T3 {
			c.e.Old = "    " + c.e.Old
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				editOnce(b, base, c.e, c.tier)
			}
		})
	}
	crlf := bytes.ReplaceAll(base, []byte("\n"), []byte("\r\n"))
	b.Run("T0 CRLF", func(b *testing.B) {
		for b.Loop() {
			editOnce(b, crlf, Replace{Old: body, New: "value > limit {\n"}, T0)
		}
	})
	b.Run("not found", func(b *testing.B) {
		for b.Loop() {
			absent := []Replace{{Old: "\tif value7 > bound {\n\t\treturn nothing\n\t}", New: "x"}}
			if _, err := Match(base, absent, Options{}); err == nil {
				b.Fatal("found")
			}
		}
	})
}

// hardCases returns functions that process especially expensive inputs of about size bytes.
func hardCases(size int) map[string]func() {
	lines := func(l string, n int) []byte { return bytes.Repeat([]byte(l), n/len(l)) }
	match := func(base []byte, old, new string, opts ...func(*Replace)) func() {
		return func() {
			e := Replace{Old: old, New: new}
			for _, o := range opts {
				o(&e)
			}
			if p, err := Match(base, []Replace{e}, Options{}); err == nil {
				p.Hunks(base)
				p.Summary(base)
			}
		}
	}
	all := func(e *Replace) { e.ReplaceAll = true }
	near := func(e *Replace) { e.NearLine = 7 }
	one := lines("abc “x” ", size)
	same, pair := lines("a\n", size), lines("a\nb\n", size)
	half := strings.Repeat("a\n", size/4)
	shifted := strings.Repeat("  call(some, thing)\n", size/250) + " x\n"
	noisy := bytes.Replace(pair, []byte("a\n"), []byte("q\n"), size/16)
	return map[string]func(){
		"same line, half the file searched": match(same, half, "x\n"),
		"same line, near line":              match(same, half, "x\n", near),
		"same line, replace all":            match(same, "a\n", "bb\n", all),
		"same line, search too deep": match(same, strings.Repeat("  a\n", size/20)+" a\n",
			"x\n"),
		"same line, trailing space": match(same, strings.Repeat("a \n", size/20)+"b\n",
			"x\n"),
		"replace all, shifted": match(lines("call(some, thing)\n", size),
			"  call(some, thing)\n", "  x()\n", all),
		"replace all, trailing space": match(lines("call(some, thing)  \n", size),
			"call(some, thing)\nc", "x()\nc", all),
		"replace all, folded": match(one, "\"x\"", "\"y\"", all),
		"uneven shift": match(lines("call(some, thing)\n", size), shifted,
			"x"),
		"one line, exact": match(append(one[:len(one):len(one)], 'z'), "z", "y"),
		"one line, folded": match(append(one[:len(one):len(one)], "it’s"...),
			"it's", "its"),
		"one line, all of it folded": match(one, strings.ReplaceAll(string(one), "“", `"`),
			strings.ReplaceAll(string(one), "abc", "abd")),
		"one line, not found": match(one, "nowhere to be found", "y"),
		"one line, ambiguous": match(one, "abc", "y"),
		"blank lines":         match(lines("\n", size), "\n\n\n \n", "x"),
		"CR only":             match(lines("a\r", size), "a\na\nb", "x"),
		"many hunks":          func() { Hunks(pair, noisy) },
		"shifted pairs": func() {
			Hunks(append([]byte("x\n"), pair...),
				append(pair[2:len(pair):len(pair)], "y\n"...))
		},
		"nothing in common": func() {
			Hunks(sourceText(size),
				bytes.ToUpper(sourceText(size)))
		},
		"reversed": func() {
			Hunks(sourceText(size),
				reversed(sourceText(size)))
		},
		"unified of repeats": func() { Unified("a", "b", pair, noisy, 3) },
		"merge of repeats": func() {
			Merge3(pair, noisy,
				bytes.Replace(pair, []byte("b\n"), []byte("r\n"), 1000))
		},
		"patch of repeats": func() {
			files, err := patch.Parse("*** Begin Patch\n*** Update File: f\n@@\n" +
				strings.Repeat(" a\n b\n", size/50) + "-c\n+d\n*** End Patch")
			if err == nil {
				_, _ = MatchPatch(pair, files[0], Options{})
			}
		},
		"patch with many hunks": func() {
			files, err := patch.Parse("*** Begin Patch\n*** Update File: f\n" +
				strings.Repeat("@@ a\n-b\n+d\n", 200) + "*** End Patch")
			if err == nil {
				_, _ = MatchPatch(sourceText(size), files[0], Options{})
			}
		},
		"patch with many scopes": func() {
			var text strings.Builder
			text.WriteString("*** Begin Patch\n*** Update File: f\n")
			for i := range 300 {
				fmt.Fprintf(&text, "@@ if value%d > limit {\n-\t\treturn compute(value%d)\n+\t\treturn %d\n", 20*i, 20*i, i)
			}
			if files, err := patch.Parse(text.String() + "*** End Patch"); err == nil {
				_, _ = MatchPatch(sourceText(size), files[0], Options{})
			}
		},
		"many edits": func() {
			base := sourceText(size)
			var edits []Replace
			for i := range 300 {
				edits = append(edits, Replace{Old: fmt.Sprintf("compute(value%d)", i), New: "x()"})
			}
			if p, err := Match(base, edits, Options{}); err == nil {
				p.Hunks(base)
			}
		},
	}
}

func reversed(data []byte) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	var out []byte
	for i := range lines {
		out = append(out, lines[len(lines)-1-i]...)
	}
	return out
}

// worstBound is the documented worst case of one second for an edit in a 1 MB file, multiplied by a
// factor for busy machines and instrumented builds. TestHardInputsEnd uses inputs of half that
// size. BenchmarkHard measures 1 MB.
const worstBound = 60 * time.Second

func TestHardInputsEnd(t *testing.T) {
	for name, run := range hardCases(megabyte / 2) {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			run()
			took := time.Since(start)
			t.Logf("%v", took)
			if took > worstBound {
				t.Errorf("took %v", took)
			}
		})
	}
}

func BenchmarkHard(b *testing.B) {
	for name, run := range hardCases(megabyte) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
		})
	}
}

func BenchmarkDiff50kLines(b *testing.B) {
	var base, new bytes.Buffer
	for i := range 50_000 {
		l := fmt.Sprintf("line %d of the file\n", i%40_000)
		base.WriteString(l)
		switch {
		case i%150 == 0:
			new.WriteString("inserted\n" + l)
		case i%150 == 50:
		case i%150 == 100:
			new.WriteString(strings.ToUpper(l))
		default:
			new.WriteString(l)
		}
	}
	for b.Loop() {
		if n := len(Hunks(base.Bytes(), new.Bytes())); n < 900 || n > 1100 {
			b.Fatalf("%d hunks", n)
		}
	}
}
