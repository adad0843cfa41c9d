package edit

import (
	"bytes"
	"errors"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/patch"
	"slices"
	"strings"
	"testing"
)

// FuzzMatch checks that any edit of any bytes results either in a plan that keeps all bytes outside
// its spans or in a *MatchError, and that an exact match is unique.
func FuzzMatch(f *testing.F) {
	for _, c := range loadCases(f) {
		for _, e := range first(c.replaces(f)) {
			f.Add(c.base(), e.Old, e.New, e.ReplaceAll, e.NearLine)
		}
	}
	f.Add([]byte("a\r\n\xff\xfe“x”\r\r\n"), "“x\"\r", "y\n\r", false, -3)
	f.Fuzz(func(t *testing.T, base []byte, old, new string, all bool, near int) {
		e := Replace{Old: old, New: new, ReplaceAll: all, NearLine: near}
		before := bytes.Clone(base)
		plan, err := Match(base, []Replace{e}, Options{Path: "x.json"})
		if !bytes.Equal(base, before) {
			t.Fatal("the input was modified")
		}
		if err != nil {
			var me *MatchError
			if !errors.As(err, &me) || me.Kind == "" || me.Msg == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		checkOutside(t, base, plan)
		checkSpans(t, base, plan, e)
		after := plan.Apply(base)
		if got := ApplyHunks(base, plan.Hunks(base), nil); !bytes.Equal(got, after) {
			t.Fatalf("hunks give %q, the plan %q", got, after)
		}
		if plan.NoOp != bytes.Equal(base, after) {
			t.Fatalf("no-op %v: %q, %q", plan.NoOp, base, after)
		}
		plan.Summary(base)
	})
}

// checkSpans checks with a simple search that exact matches are unique, and that the new text of
// every span has only the file's line endings.
func checkSpans(t *testing.T, base []byte, p *Plan, e Replace) {
	lf := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	for _, s := range p.Spans {
		if s.Tier == T0 && !e.ReplaceAll && e.NearLine == 0 &&
			strings.Count(lf.Replace(string(base)), lf.Replace(e.Old)) != 1 {
			t.Fatalf("span %+v of an ambiguous text", s)
		}
		if kind := EOL(base); kind != "mixed" && kind != "none" {
			if got := EOL(s.New); got != kind && got != "none" {
				t.Fatalf("span %+v adds %s to a %s file", s, got, kind)
			}
		}
	}
}

func first(r []Replace, _ Options) []Replace { return r }

// FuzzParsePatch checks that any text is either a valid patch or refused with KindPatch, and that
// any patch is either applied or refused without side effects.
func FuzzParsePatch(f *testing.F) {
	for _, c := range loadCases(f) {
		if p, ok := c.parts["patch"]; ok {
			f.Add(marks.Replace(p), c.base())
		}
	}
	f.Add("diff --git \"a/\\303\\244\" b/x\nrename from x\nrename to y\n", []byte("a"))
	f.Fuzz(func(t *testing.T, text string, base []byte) {
		files, err := patch.Parse(text)
		if err != nil {
			if me := refusal(err); me == nil || me.Kind != KindPatch || me.Msg == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		for _, p := range files {
			ops := []string{patch.Modify, patch.Create, patch.Delete, patch.Rename}
			if p.Path == "" || !slices.Contains(ops, p.Op) {
				t.Fatalf("%+v", p)
			}
			plan, err := MatchPatch(base, p, Options{})
			if err != nil {
				continue
			}
			checkOutside(t, base, plan)
			if got := ApplyHunks(base, plan.Hunks(base), nil); !bytes.Equal(got, plan.Apply(base)) {
				t.Fatalf("hunks give %q", got)
			}
		}
	})
}

// FuzzDecode checks that encoding a decoded text returns the original bytes.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "a\n", "\xef\xbb\xbfa", "\xff\xfea\x00", "\xfe\xff\x00a",
		"\xff\xfe=\xd8\x00\xde", "a\x00b", "\xff\xfe\x00\x00", "é\xff", "\xff\xfea"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := Decode(raw)
		if err != nil {
			if !errors.Is(err, ErrBinary) && !errors.Is(err, ErrEncoding) {
				t.Fatalf("error %v", err)
			}
			return
		}
		back, err := text.Encode()
		if err != nil || !bytes.Equal(back, raw) {
			t.Fatalf("%q came back as %q, %v", raw, back, err)
		}
	})
}

// FuzzHunks checks that hunks recreate the new text, and that merges are symmetric.
func FuzzHunks(f *testing.F) {
	for _, c := range loadCases(f) {
		f.Add(c.base(), []byte(unmark(c.parts["want"], true)), []byte("a\nb\n"))
	}
	f.Fuzz(func(t *testing.T, base, new, third []byte) {
		if got := ApplyHunks(base, Hunks(base, new), nil); !bytes.Equal(got, new) {
			t.Fatalf("hunks: %q, want %q", got, new)
		}
		Unified("a", "b", base, new, 3)
		ours, conflicts := Merge3(base, new, third)
		if theirs, c := Merge3(base, third, new); len(c) != len(conflicts) ||
			!bytes.Equal(resolve(ours, conflicts), theirs) {
			t.Fatalf("merge: %q and %q", ours, theirs)
		}
	})
}
