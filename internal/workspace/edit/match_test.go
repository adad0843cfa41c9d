package edit

import (
	"strings"
	"testing"
)

func TestMatchKeepsEndings(t *testing.T) {
	base := []byte("one\r\ntwo\r\nthree\nfour")
	p, err := Match(base, []Replace{{Old: "two\nthree", New: "two\n2.5\nTHREE"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(p.Apply(base)), "one\r\ntwo\r\n2.5\nTHREE\nfour"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReplaceAllHasNoLimit(t *testing.T) {
	for search, line := range map[string]string{"call(x)": "call(x)\n",
		"call(x)\n# end": "call(x)  \n# end\n", "  some(long, call)": "some(long, call)\n",
		`say "x"`: "say “x”\n"} {
		base := strings.Repeat(line, 500)
		p, err := Match([]byte(base), []Replace{{Old: search, New: "  gone", ReplaceAll: true}},
			Options{})
		if err != nil {
			t.Errorf("%q: %v", search, err)
		} else if len(p.Spans) != 500 {
			t.Errorf("%q: %d spans", search, len(p.Spans))
		}
	}
}

func TestPlanHunksBearTheirTier(t *testing.T) {
	base := []byte("a  \nb\nc\nd\ne\nf\n")
	p, err := Match(base, []Replace{{Old: "a\nb", New: "a\nB"}, {Old: "f", New: "F"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	hunks := p.Hunks(base)
	if len(hunks) != 2 || hunks[0].Tier != T2 || hunks[1].Tier != T0 || hunks[0].BaseLine != 1 ||
		string(hunks[0].Old) != "b\n" {
		t.Errorf("%+v", hunks)
	}
}
