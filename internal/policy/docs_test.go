package policy

import (
	"os"
	"strings"
	"testing"
)

// block returns the content of a fenced block in docs/use/permissions.md.
func block(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile("../../docs/use/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "```"+name+"\n")
	text, _, closed := strings.Cut(rest, "\n```")
	if !ok || !closed {
		t.Fatalf("docs/use/permissions.md has no block %q", name)
	}
	return strings.Split(text, "\n")
}

func TestTheDocumentedRulesDoWhatTheySay(t *testing.T) {
	words := map[string]Action{"allowed": Allow, "asks": Ask, "denied": Deny}
	var rules []Rule
	example := false
	for _, line := range block(t, "rules") {
		if !strings.HasPrefix(line, " ") {
			if example {
				rules, example = nil, false
			}
			r, err := ParseRule(line)
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, r)
			continue
		}
		example = true
		word, script, _ := strings.Cut(strings.TrimSpace(line), " ")
		script = strings.TrimSpace(script)
		want, ok := words[word]
		if got := judgeCommand(rules, script, Classify(script)); !ok || got.action != want {
			t.Errorf("%v: %q is %v, the page says %s", rules, script, got.action, word)
		}
	}
}

func TestTheDocumentedClassesAreTrue(t *testing.T) {
	for _, line := range block(t, "classes") {
		want, script, _ := strings.Cut(line, " ")
		script = strings.TrimSpace(script)
		if got := Classify(script); got.Class.String() != want {
			t.Errorf("%q is %v, the page says %s", script, got.Class, want)
		}
	}
}
