package policy

import (
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/tools/search"
)

// TestRulesAndGlobsAgree checks that a pattern with a slash has the same meaning in permission
// rules and in searches.
func TestRulesAndGlobsAgree(t *testing.T) {
	paths := strings.Fields(
		"src src/a.go src/x/a.go src/x/y/a_test.go srcx/a.go a.go docs/src/a.go src/[id].go src/{x}.go .github/w/ci.yml src/.env",
	)
	matched := 0
	for _, pattern := range []string{
		"src/**", "src/*", "src/*.go", "src/**/*.go", "**/*.go", "**/src/**", "src/{a,x/a}.go",
		"src/{a,{b,x/a}}.go", "src/[]a].go", "src/{a}.go", "src/[!a]*", `src/\[id\].go`,
		`src/\{x\}.go`,
		"src/x/**/a*", "**/.github/**", "src/.*", "**/a?go", "src/[a-c].go", "*/a.go",
	} {
		rule, rerr := ParseRule("allow edit(" + pattern + ")")
		glob, gerr := search.CompileGlob(pattern)
		if rerr != nil || gerr != nil {
			t.Fatalf("%s: %v, %v", pattern, rerr, gerr)
		}
		for _, p := range paths {
			byRule, byGlob := rule.matchPath("/w/"+p, []string{"/w"}), glob.Match(p)
			if byRule != byGlob {
				t.Errorf("%s and %s: the rule says %v, the glob %v", pattern, p, byRule, byGlob)
			}
			if byGlob {
				matched++
			}
		}
	}
	if matched < 40 {
		t.Errorf("only %d matches: the test checks too little", matched)
	}
}
