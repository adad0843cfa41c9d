package edit

import (
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/patch"
	"strings"
	"testing"
)

// TestWhyNotFound checks that the message names the actual difference between a search text and the
// file.
func TestWhyNotFound(t *testing.T) {
	const part = "as part of a line"
	const otherCase = "differs only in upper and lower case"
	for _, c := range []struct {
		name, base, old string
		whole           bool
		want, not       string
	}{
		{"another case", "Total = 1\n", "total = 1", false, otherCase, part},
		{"another case inside a line, which edit may match", "subtotal = 1\n", "Total = 1", false,
			otherCase, part},
		{"another case inside a line, in a block", "subtotal = 1\n", "Total = 1", true, "",
			otherCase},
		{"another case inside a line, then on a whole one", "subtotal = 1\nTOTAL = 1\n",
			"Total = 1", true, "2| TOTAL = 1", part},
		{"another case with a line break that is not there", "Foo bar\n", "foo\n", false, "",
			otherCase},
		{"a part of a line, in a block", "subtotal = 1\n", "total = 1", true, part, otherCase},
		{"a part of a line with a line break that is not there", "foo bar\n", "foo\n", false,
			"remove the line break", otherCase},
	} {
		_, err := Match(
			[]byte(c.base),
			[]Replace{{Old: c.old, New: "something else\n", WholeLines: c.whole}},
			Options{},
		)
		if err == nil {
			t.Errorf("%s: matched", c.name)
			continue
		}
		if msg := err.Error(); !strings.Contains(msg, c.want) ||
			c.not != "" && strings.Contains(msg, c.not) {
			t.Errorf("%s: want %q and not %q in:\n%s", c.name, c.want, c.not, msg)
		}
	}
	hunk := "*** Begin Patch\n*** Update File: f.txt\n@@\n-Total = 1\n+x\n*** End Patch\n"
	files, err := patch.Parse(hunk)
	if err != nil {
		t.Fatal(err)
	}
	_, err = MatchPatch([]byte("subtotal = 1\n"), files[0], Options{})
	if err == nil || strings.Contains(err.Error(), otherCase) {
		t.Errorf("a hunk has whole lines: %v", err)
	}
}
