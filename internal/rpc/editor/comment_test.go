package editor

import (
	"strings"
	"testing"
)

func TestAIComments(t *testing.T) {
	for line, want := range map[string]string{
		"x = 1 // rename this AI!": "do", "# ai! sort these": "do", "-- what is this AI?": "ask",
		"/* explain AI? */":    "ask",
		"<!-- AI! shorten -->": "do", " * split this AI!": "do", "AI! write the introduction": "do",
		"; AI?": "ask", "\t// AI: no": "",
		"// the AI said so": "", "say(\"AI!\")": "", "http://x/AI!": "", "if a != b { // MAI!": "",
		"// AI!x": "", "plain text AI!": "", "": "",
	} {
		got := ""
		if c := aiComments("\n" + line + "\r\n"); len(c) == 1 && c[0].line == 1 {
			got = map[bool]string{true: "ask", false: "do"}[c[0].question]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if n := len(aiComments(strings.Repeat("// AI!\n", 1000))); n != maxComments {
		t.Errorf("%d comments", n)
	}
}

func TestViewNames(t *testing.T) {
	for uri, want := range map[string]string{
		contentURI(schemeSession, "s1.md"):            "transcript-s1.md",
		contentURI(schemeProposed, "p1.diff"):         "proposal-p1.diff",
		contentURI(schemeBase, "p1", "0", "a b.go"):   "proposal-p1-0-base-a b.go",
		contentURI(schemeProposed, "p1", "0", "x.go"): "proposal-p1-0-proposed-x.go",
	} {
		if got := viewName(uri); got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}
