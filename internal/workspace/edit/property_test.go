package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/patch"
	"pgregory.net/rapid"
)

// drawText draws a text that consists of few distinct lines with all kinds of line ending. Repeated
// lines, shared lines and missing final newlines are therefore common.
func drawText(t *rapid.T, label string) []byte {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "  a", "\tb", "c  ", "“d”",
		"e é 😀", "}", "longer line of text", "\x80\xff"}), 0, 12).Draw(t, label)
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l + rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\r"}).Draw(t, "eol"))
	}
	b.WriteString(rapid.SampledFrom([]string{"", "", "end"}).Draw(t, "tail"))
	return b.Bytes()
}

func TestHunksAnySubsetIsTheMix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, new := drawText(t, "base"), drawText(t, "new")
		hunks := Hunks(base, new)
		if got := ApplyHunks(base, hunks, nil); !bytes.Equal(got, new) {
			t.Fatalf("all hunks of %q give %q, want %q", base, got, new)
		}
		none := func(int) bool { return false }
		if got := ApplyHunks(base, hunks, none); !bytes.Equal(got, base) {
			t.Fatalf("no hunk changes %q to %q", base, got)
		}
		var want []byte
		chosen := map[int]bool{}
		atBase, atNew := 0, 0
		for i, h := range hunks {
			checkHunk(t, base, new, h, atBase, atNew)
			want = append(want, base[atBase:h.BaseStart]...)
			if chosen[i] = rapid.Bool().Draw(t, "accept"); chosen[i] {
				want = append(want, new[h.NewStart:h.NewEnd]...)
			} else {
				want = append(want, base[h.BaseStart:h.BaseEnd]...)
			}
			atBase, atNew = h.BaseEnd, h.NewEnd
		}
		want = append(want, base[atBase:]...)
		if got := ApplyHunks(base, hunks, func(i int) bool { return chosen[i] }); !bytes.Equal(got,
			want) {
			t.Fatalf("the mix is %q, want %q", got, want)
		}
	})
}

// TestHunksNeverCutCRLF compares texts that differ only in one line ending.
func TestHunksNeverCutCRLF(t *testing.T) {
	for _, c := range [][2]string{{"a\rb", "a\r\nb"}, {"a\r\nb", "a\rb"}, {"x\r\n", "x\n"},
		{"x\n", "x\r\n"}, {"a\r", "a\r\n"}} {
		base, new := []byte(c[0]), []byte(c[1])
		for _, h := range Hunks(base, new) {
			if !isLineStart(base, h.BaseStart) || !isLineStart(new, h.NewStart) ||
				h.BaseEnd < len(base) && !isLineStart(base, h.BaseEnd) {
				t.Errorf("%q to %q: hunk %+v cuts a line", base, new, h)
			}
		}
		if got := ApplyHunks(base, Hunks(base, new), nil); !bytes.Equal(got, new) {
			t.Errorf("%q to %q: %q", base, new, got)
		}
	}
}

// checkHunk checks that a hunk consists of whole lines, has the correct line numbers and follows an
// unchanged line, and that the texts between it and the previous hunk are equal.
func checkHunk(t *rapid.T, base, new []byte, h Hunk, atBase, atNew int) {
	if !isLineStart(base, h.BaseStart) || !isLineStart(new, h.NewStart) {
		t.Fatalf("hunk %+v does not begin with a line", h)
	}
	if h.BaseLine != len(splitLines(base[:h.BaseStart])) ||
		h.NewLine != len(splitLines(new[:h.NewStart])) {
		t.Fatalf("hunk %+v has wrong line numbers", h)
	}
	if !bytes.Equal(base[atBase:h.BaseStart], new[atNew:h.NewStart]) {
		t.Fatalf("texts differ before hunk %+v", h)
	}
	if atBase > 0 && h.BaseStart == atBase && atNew == h.NewStart {
		t.Fatalf("hunk %+v touches the one before", h)
	}
}

func TestUnifiedIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lf := func(label string) []byte {
			return bytes.ReplaceAll(drawText(t, label), []byte("\r"),
				nil)
		}
		base, new := lf("base"), lf("new")
		text := Unified("a/dir/my file", "b/dir/my file", base, new,
			rapid.IntRange(0, 3).Draw(t, "context"))
		if bytes.Equal(base, new) != (text == "") {
			t.Fatalf("diff %q of %q and %q", text, base, new)
		}
		if text == "" {
			return
		}
		files, err := patch.Parse(text)
		if err != nil || len(files) != 1 || files[0].Path != "dir/my file" {
			t.Fatalf("%+v, %v\n%s", files, err, text)
		}
		p, err := MatchPatch(base, files[0], Options{})
		if err != nil {
			var me *MatchError
			if !errors.As(err, &me) || me.Kind == KindPatch {
				t.Fatalf("%v\n%s", err, text)
			}
			return // with little context, the patch may be ambiguous and is refused
		}
		if got := p.Apply(base); len(p.Notes) == 0 && !bytes.Equal(got, new) {
			t.Fatalf("got %q, want %q\n%s", got, new, text)
		}
	})
}

// endings returns the line endings in a text, in order.
func endings(data []byte) []string {
	var out []string
	for _, l := range splitLines(data) {
		out = append(out, string(data[l.end:l.next]))
	}
	return out
}

func TestMatchKeepsEverythingElse(t *testing.T) {
	applied := 0
	rapid.Check(t, func(t *rapid.T) {
		base := drawText(t, "base")
		lines := splitLines(base)
		if len(lines) == 0 {
			return
		}
		from := rapid.IntRange(0, len(lines)-1).Draw(t, "from")
		to := rapid.IntRange(from, len(lines)-1).Draw(t, "to")
		old := toLF(string(base[lines[from].start:lines[to].end]))
		new := rapid.SampledFrom([]string{"", "new", "n1\nn2", "n1\r\nn2\r\nn3"}).Draw(t, "new")
		plan, err := Match(base, []Replace{{Old: old, New: new}}, Options{})
		if err != nil || plan.NoOp {
			return
		}
		applied++
		got := plan.Apply(base)
		checkOutside(t, base, plan)
		s := plan.Spans[0]
		if before, after := endings(base[:s.Start]),
			endings(got[:s.Start]); !slices.Equal(before, after) {
			t.Fatalf("endings before the span: %q, want %q", after, before)
		}
		if rest := base[s.End:]; !bytes.HasSuffix(got, rest) {
			t.Fatalf("the rest %q is not contained in %q", rest, got)
		}
	})
	if applied == 0 {
		t.Error("no drawn edit was ever applied")
	}
}

func TestUnchangedLinesKeepTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 10).Draw(t, "lines")
		changed := rapid.IntRange(0, n-1).Draw(t, "changed")
		var base, want bytes.Buffer
		var old, new []string
		for i := range n {
			eol := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "eol")
			space := rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "space")
			if i == n-1 {
				space = "" // otherwise the white space would follow the search text and be kept
			}
			l := fmt.Sprintf("line %d", i)
			old, new = append(old, l), append(new, l)
			base.WriteString(l + space + eol)
			if i == changed {
				new[i] = "changed"
				want.WriteString("changed" + eol)
				continue
			}
			want.WriteString(l + space + eol)
		}
		plan, err := Match(base.Bytes(),
			[]Replace{{Old: strings.Join(old, "\n"), New: strings.Join(new, "\n")}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Apply(base.Bytes()); string(got) != want.String() {
			t.Fatalf("got %q, want %q", got, want.String())
		}
	})
}

func TestAmbiguityIsAlwaysRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block := rapid.SampledFrom([]string{"alpha(one)", "if x {\n\ty()\n}", "a\n\nb",
			"say “hi” there", "tail space  "}).Draw(t, "block")
		vary := []func(string) string{
			func(s string) string { return s },
			func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
			func(s string) string { return strings.ReplaceAll(s, "\n", " \n") + " " },
		}
		variant := rapid.SampledFrom(vary)
		same := variant.Draw(t, "variant")
		n := rapid.IntRange(2, 5).Draw(t, "copies")
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "filler %d\n%s\n", i, same(block))
		}
		_, err := Match([]byte(b.String()),
			[]Replace{{Old: variant.Draw(t, "search")(block), New: "replaced"}}, Options{})
		var me *MatchError
		if !errors.As(err, &me) || me.Kind != KindAmbiguous && me.Kind != KindNotFound {
			t.Fatalf("error %v; want an ambiguity in %q", err, b.String())
		}
		if me.Kind == KindNotFound && strings.TrimRight(block, " ") == block {
			t.Fatalf("not found: %v", err)
		}
	})
}

func TestReplayIsANoOp(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{6,10}`)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(word, 6, 6, rapid.ID[string]).Draw(t, "words")
		base := []byte(strings.Join(words[:4], "\n") + "\n")
		old := words[1] + "\n" + words[2]
		new := rapid.SampledFrom([]string{
			words[1] + "\n" + words[4] + "\n" + words[2], words[4] + "\n" + words[5],
			old + "\n" + words[4], words[5] + "\n" + old,
		}).Draw(t, "new")
		edits := []Replace{{Old: old, New: new}}
		plan, err := Match(base, edits, Options{})
		if err != nil {
			t.Fatal(err)
		}
		once := plan.Apply(base)
		again, err := Match(once, edits, Options{})
		if err != nil || !again.NoOp {
			t.Fatalf("replay on %q: plan %+v, error %v", once, again, err)
		}
	})
}

func TestDecodeEncodeIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", ""))
		text := Text{Data: data, Encoding: rapid.SampledFrom([]Encoding{UTF8, UTF16LE,
			UTF16BE}).Draw(t, "encoding"), BOM: true}
		raw, err := text.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(raw)
		if err != nil || !bytes.Equal(back.Data, data) || back.Encoding != text.Encoding ||
			!back.BOM {
			t.Fatalf("%+v, %v; want %+v", back, err, text)
		}
	})
}

func TestMerge3Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, x, y := drawText(t, "base"), drawText(t, "x"), drawText(t, "y")
		for _, c := range []struct{ mine, theirs, want []byte }{{base, x, x}, {x, base, x},
			{x, x, x}} {
			got, conflicts := Merge3(base, c.mine, c.theirs)
			if !bytes.Equal(got, c.want) || len(conflicts) > 0 {
				t.Fatalf("Merge3(%q, %q, %q) = %q, %v", base, c.mine, c.theirs, got, conflicts)
			}
		}
		a, ca := Merge3(base, x, y)
		b, cb := Merge3(base, y, x)
		if len(ca) != len(cb) || len(ca) == 0 && !bytes.Equal(a, b) {
			t.Fatalf("not symmetric: %q %v, %q %v", a, ca, b, cb)
		}
		for i, c := range ca {
			if !bytes.Equal(a[c.Start:c.End], c.Mine) || !bytes.Equal(c.Mine, cb[i].Theirs) ||
				!bytes.Equal(c.Base, base[c.BaseStart:c.BaseEnd]) {
				t.Fatalf("conflict %+v in %q", c, a)
			}
		}
		if swapped := resolve(a, ca); !bytes.Equal(swapped, b) {
			t.Fatalf("with their side of the conflicts: %q, want %q", swapped, b)
		}
	})
}

// resolve chooses the second side of every conflict.
func resolve(merged []byte, conflicts []Conflict) []byte {
	var spans []Span
	for _, c := range conflicts {
		spans = append(spans, Span{Start: c.Start, End: c.End, New: c.Theirs})
	}
	return Apply(merged, spans)
}

func TestMerge3TakesBothSides(t *testing.T) {
	merged, conflicts := Merge3([]byte("a\nb\nc\nd\ne\n"), []byte("A\nb\nc\nd\ne\n"),
		[]byte("a\nb\nc\nd\nE\n"))
	if string(merged) != "A\nb\nc\nd\nE\n" || len(conflicts) > 0 {
		t.Errorf("%q, %v", merged, conflicts)
	}
	merged, conflicts = Merge3([]byte("a\nb\n"), []byte("mine\nb\n"), []byte("theirs\nb\n"))
	if string(merged) != "mine\nb\n" || len(conflicts) != 1 ||
		string(conflicts[0].Theirs) != "theirs\n" {
		t.Errorf("%q, %+v", merged, conflicts)
	}
}
