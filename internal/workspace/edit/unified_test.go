package edit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestUnifiedHunks builds a diff from known hunks and applies parts of it with a separate
// implementation.
func TestUnifiedHunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := []string{"a", "b", "c", "", "d", "e e", "f"}
		eol := rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\r"})
		text := func(name string) []byte {
			var b strings.Builder
			for range rapid.IntRange(0, 30).Draw(t, name) {
				b.WriteString(rapid.SampledFrom(words).Draw(t, "word") + eol.Draw(t, "eol"))
			}
			if rapid.Bool().Draw(t, "open end") {
				b.WriteString("end")
			}
			return []byte(b.String())
		}
		base, new := text("base"), text("new")
		context := rapid.IntRange(0, 4).Draw(t, "context")
		hunks := Hunks(base, new)
		keep := rapid.Uint64().Draw(t, "keep")
		var some []Hunk
		for i, h := range hunks {
			if keep>>(i%64)&1 == 1 {
				some = append(some, h)
			}
		}
		want := ApplyHunks(base, some, nil)
		diff := UnifiedHunks("a/f", "b/f", base, some, context)
		if (diff == "") != bytes.Equal(base, want) {
			t.Fatalf("diff %q for equal texts", diff)
		}
		if diff == "" {
			return
		}
		if got := patched(t, string(base), diff); got != string(want) {
			t.Fatalf("the diff results in %q, not %q\n%s", got, want, diff)
		}
	})
}

// patched applies a diff strictly, line by line, as tools that read diffs do.
func patched(t *rapid.T, base, diff string) string {
	old := strings.SplitAfter(base, "\n")
	var out strings.Builder
	at := 0
	lines := strings.SplitAfter(diff, "\n")[2:]
	for i, l := range lines {
		if l == "" || l[0] == '\\' {
			continue
		}
		text := l[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\\") {
			text = strings.TrimSuffix(text, "\n")
		}
		switch l[0] {
		case '@':
			var from, n int
			if _, err := fmt.Sscanf(l, "@@ -%d,%d", &from, &n); err != nil {
				n = 1
				_, _ = fmt.Sscanf(l, "@@ -%d", &from)
			}
			if n > 0 {
				from--
			}
			for ; at < from; at++ {
				out.WriteString(old[at])
			}
		case '+':
			out.WriteString(text)
		default:
			if old[at] != text {
				t.Fatalf("line %d is %q, the diff says %q\n%s", at+1, old[at], text, diff)
			}
			if at++; l[0] == ' ' {
				out.WriteString(text)
			}
		}
	}
	return out.String() + strings.Join(old[at:], "")
}

func TestUnifiedHunksIsUnified(t *testing.T) {
	base := sourceText(20_000)
	for _, c := range []struct{ old, new string }{
		{"value3 >", "value3 <"}, {"value7 > limit", "x"}, {"compute(value1)", "1\n\t\treturn 2"},
		{"\tif value9 > limit { // it’s case 9\n", ""}, {"return", "give"}, {"\t}\n", "\t}\n\n"},
	} {
		new := bytes.ReplaceAll(base, []byte(c.old), []byte(c.new))
		for context := range 5 {
			want := Unified("a", "b", base, new, context)
			if got := UnifiedHunks("a", "b", base, Hunks(base, new), context); got != want {
				t.Errorf("%q, context %d:\n%s\nwant\n%s", c.old, context, got, want)
			}
		}
	}
	for _, c := range [][2]string{{"", "a\nb"}, {"a\nb", ""}, {"a\nb", "a\nb\n"}, {"a", "a\nb"},
		{"a\nb\n", "a\n"}, {"a\r\nb\r\n", "a\r\nc\r\n"}, {"a\rb\rc", "a\rx\rc"}} {
		want := Unified("a", "b", []byte(c[0]), []byte(c[1]), 3)
		if got := UnifiedHunks("a", "b", []byte(c[0]), Hunks([]byte(c[0]), []byte(c[1])),
			3); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", c, got, want)
		}
	}
}

func TestUnifiedOutput(t *testing.T) {
	got := Unified("a/f", "b/f", []byte("1\n2\n3\n4\n5\n6\n7\n8\n9"),
		[]byte("1\n2\n3\n4\nV\n6\n7\n8\n9\n"), 1)
	want := "--- a/f\n+++ b/f\n@@ -4,3 +4,3 @@\n 4\n-5\n+V\n 6\n@@ -8,2 +8,2 @@\n 8\n-9\n\\ No newline at end of file\n+9\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := Unified("/dev/null", "b/n", nil, []byte("x\n"),
		3); got != "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n" {
		t.Errorf("created:\n%s", got)
	}
}
