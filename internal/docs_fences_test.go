package internal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fenced lists the fenced blocks in the pages with the tests that run or load them: Go tests by
// name, and tests of editors by file. For a block that no test can run, unrun gives the reason.
var fenced = []struct{ page, kind, by, unrun string }{
	{"*", "sh", "TestCommandsInDocs", ""},
	{"*", "json", "TestJSONInDocs", ""},
	{"*", "jsonc", "TestJSONInDocs", ""},
	{"README.md", "json", "TestReadmeSettings TestProviderTable", ""},
	{"docs/use/editors.md", "lua", "editors/neovim/tests/spec/plain_spec.lua", ""},
	{"docs/use/acp.md", "lua", "editors/neovim/tests/spec/snippets_spec.lua", ""},
	{"docs/use/acp.md", "json", "TestEditorsDocumentation", ""},
	{"docs/use/editors.md", "elisp", "editors/plain/emacs.sh editors/plain/lsp-mode.sh", ""},
	{"docs/use/editors.md", "vim", "editors/plain/ale.sh", ""},
	{"docs/use/editors.md", "toml", "TestHelixSetUp", ""},
	{"docs/use/editors.md", "json", "TestKateSetUp TestSublimeSetUp", ""},
	{"docs/reference/edits.md", "file", "TestDocumentedExamples", ""},
	{"docs/reference/edits.md", "search", "TestDocumentedExamples", ""},
	{"docs/reference/edits.md", "replace", "TestDocumentedExamples", ""},
	{"docs/reference/edits.md", "patch", "TestDocumentedExamples", ""},
	{"docs/reference/edits.md", "result", "TestDocumentedExamples", ""},
	{"docs/reference/edits.md", "refused", "TestDocumentedExamples", ""},
	{"docs/reference/hooks.md", "json", "TestHooksAreDocumented", ""},
	{"docs/reference/hooks.md", "sh", "TestHooksAreDocumented", ""},
	{"docs/reference/commands.md", "text", "TestCommandPage", ""},
	{"docs/use/permissions.md", "rules", "TestTheDocumentedRulesDoWhatTheySay", ""},
	{"docs/use/permissions.md", "classes", "TestTheDocumentedClassesAreTrue", ""},
	{"docs/reference/protocol/README.md", "",
		"TestFirstSessionOfTheProtocol TestOrderOfTheProtocol", ""},
	{"docs/use/models.md", "json", "TestProviderTable", ""},
	{"docs/use/review.md", "", "TestReviewPage", ""},
	{"docs/reference/script.md", "jsonl", "TestDocumentedScript", ""},
	{"docs/reference/tools.md", "json", "TestDocumentedServerAndAgent", ""},
	{"docs/reference/tools.md", "markdown", "TestDocumentedServerAndAgent", ""},
	{"editors/neovim/README.md", "lua",
		"editors/neovim/tests/spec/docs_spec.lua editors/neovim/tests/spec/snippets_spec.lua", ""},
	{"editors/neovim/README.md", "vim", "editors/neovim/tests/spec/docs_spec.lua", ""},
	{"editors/neovim/README.md", "sh", "editors/neovim/tests/spec/docs_spec.lua", ""},
	{"CONTRIBUTING.md", "go", "TestHowToOfATool", ""},
	{"CONTRIBUTING.md", "markdown", "TestHowToOfATool", ""},
	{"ARCHITECTURE.md", "", "", "a drawing of who speaks to whom"},
	{"docs/contribute/walks.md", "", "", "a drawing of the layers"},
	{"docs/contribute/performance.md", "text", "",
		"a chart that make bench-peers writes from its measurements"},
}

// For each fenced block in a page, either a test exists that runs it, or a reason is given why no
// test can.
func TestEveryFenceIsRun(t *testing.T) {
	tests, used := testFunctions(t), map[int]bool{}
	for _, p := range pages() {
		for _, m := range fence.FindAllStringSubmatch(p.text, -1) {
			found := false
			for i, f := range fenced {
				if (f.page == p.path || f.page == "*") && f.kind == m[1] {
					found, used[i] = true, true
				}
			}
			if !found {
				t.Errorf("%s: no test is listed here that runs its blocks of kind %q:\n%s", p.path,
					m[1], m[2])
			}
		}
	}
	for i, f := range fenced {
		if !used[i] {
			t.Errorf("%s no longer has a block of kind %q", f.page, f.kind)
		}
		if (f.by == "") == (f.unrun == "") {
			t.Errorf("%s, %q: name the test that runs it, or the reason why none does",
				f.page, f.kind)
		}
		for _, by := range strings.Fields(f.by) {
			if _, err := os.Stat(filepath.Join(top, by)); !tests[by] &&
				(err != nil || !strings.Contains(by, "/")) {
				t.Errorf("%s, %q: there is no test %s", f.page, f.kind, by)
			}
		}
	}
}
