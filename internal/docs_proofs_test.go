package internal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// proofs is the page that names the tests for the statements in provenPages.
const proofs = "docs/reference/proofs.md"

// provenPages are the pages whose promises must have tests.
var provenPages = []string{"docs/use/permissions.md", "docs/use/security.md"}

// tested is the heading of the last column in tables that name their tests themselves.
const tested = "| test |"

var (
	sentenceEnd = regexp.MustCompile("[.?!] (?:[A-Z*`\x00\"]|agent-lsp )")
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	scriptName  = regexp.MustCompile("`([a-z]+/[a-z0-9-]+)`")
	testFile    = regexp.MustCompile("`(editors/[\\w./-]+)`")
	// promise matches words that promise protection. A sentence that contains one cannot be marked
	// "explains".
	promise = regexp.MustCompile(`(?i)\b(never|cannot|only|nothing|none|refuse[sd]?|den(y|ies|ied)` +
		`|asks?|asked|hides?|hidden|read-only|ignore[sd]?|stopp?s?|stopped|ends|redacted)\b`)
)

// statement is a sentence or a table row of a page.
type statement struct{ page, heading, text string }

// statements returns the statements in a page. A table row that names its own tests is checked here
// and omitted from the result.
func statements(t *testing.T, path string) (out []statement) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(top, path))
	if err != nil {
		t.Fatal(err)
	}
	heading, paragraph, table := "", "", ""
	add := func(text string) { out = append(out, statement{path, heading, text}) }
	flush := func() {
		for _, s := range sentencesOf(paragraph) {
			add(s)
		}
		paragraph = ""
	}
	for line := range strings.Lines(fence.ReplaceAllString(string(raw), "")) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			table = ""
		}
		switch {
		case strings.HasPrefix(line, "#"):
			flush()
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		case strings.HasPrefix(line, "|") && table == "":
			flush()
			table = line
		case strings.HasPrefix(line, "|---"):
		case strings.HasPrefix(line, "|") && strings.HasSuffix(table, tested):
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			if last := cells[len(cells)-1]; !testName.MatchString(last) {
				t.Errorf("%s names no test for %s", path, cells[0])
			}
		case strings.HasPrefix(line, "|"):
			cells := strings.FieldsFunc(strings.ReplaceAll(line, " | ", "\x01"), func(r rune) bool {
				return r == '\x01'
			})
			add(linkText.ReplaceAllString(strings.Trim(strings.Join(cells, " / "), "| "), "$1"))
		case line == "" || strings.HasPrefix(line, "- "):
			flush()
			paragraph = strings.TrimPrefix(line, "- ")
		default:
			paragraph = strings.TrimSpace(paragraph + " " + line)
		}
	}
	flush()
	return out
}

// sentencesOf splits a paragraph into sentences and removes the link targets.
func sentencesOf(paragraph string) (out []string) {
	var code []string
	rest := inlineCode.ReplaceAllStringFunc(linkText.ReplaceAllString(paragraph, "$1"),
		func(s string) string {
			code = append(code, s)
			return fmt.Sprintf("\x00%d\x00", len(code)-1)
		})
	for rest != "" {
		one := rest
		if at := sentenceEnd.FindStringIndex(rest); at != nil {
			one = rest[:at[0]+1]
		}
		rest = strings.TrimSpace(rest[len(one):])
		for i, c := range code {
			one = strings.Replace(one, fmt.Sprintf("\x00%d\x00", i), c, 1)
		}
		out = append(out, one)
	}
	return out
}

// row returns the row for a statement in the table of proofs.
func (s statement) row(tests string) string {
	return fmt.Sprintf("| %s | %s |\n", strings.ReplaceAll(s.text, "|", `\|`), tests)
}

// TestEveryStatementHasAProof checks that the page of proofs has a row for each statement in the
// security and permission pages, and that each row names tests that exist. A statement that
// promises no protection is marked "explains", and a statement about missing protection is marked
// "limit". With UPDATE_DOCS=1, the test writes the rows and keeps the tests for unchanged
// statements.
func TestEveryStatementHasAProof(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(top, proofs))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(raw), "\n## ")
	tests := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), " |"), " | ")
		if last := len(cells) - 1; last > 0 {
			text := strings.TrimPrefix(strings.Join(cells[:last], " | "), "| ")
			tests[strings.ReplaceAll(text, `\|`, "|")] = cells[last]
		}
	}
	known := testFunctions(t)
	want := strings.TrimRight(head, "\n") + "\n"
	page, heading := "", ""
	for _, path := range provenPages {
		for _, s := range statements(t, path) {
			if s.page != page {
				page, heading = s.page, ""
				want += fmt.Sprintf("\n## %s\n", filepath.Base(page))
			}
			if s.heading != heading {
				heading = s.heading
				want += fmt.Sprintf("\n**%s**\n\n| statement | test |\n|---|---|\n", heading)
			}
			want += s.row(tests[s.text])
			s.check(t, known, tests[s.text])
		}
	}
	if want == string(raw) {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Errorf("%s is outdated: run UPDATE_DOCS=1 go test ./internal -run %s, then name the tests",
			proofs, t.Name())
	} else if err := os.WriteFile(filepath.Join(top, proofs), []byte(want), 0o644); err != nil {
		t.Error(err)
	}
}

// check validates the tests that a statement lists as its proof.
func (s statement) check(t *testing.T, known map[string]bool, tests string) {
	t.Helper()
	switch {
	case tests == "limit":
		if !strings.Contains(s.heading, "ot protected") && !promisesLess.MatchString(s.text) {
			t.Errorf("%s: a statement about missing protection belongs under \"Not protected\": %s",
				s.page, s.text)
		}
		return
	case tests == "explains":
		if promise.MatchString(s.text) {
			t.Errorf("%s: no test for the promise: %s", s.page, s.text)
		}
		return
	}
	named := testName.FindAllStringSubmatch(tests, -1)
	for _, m := range named {
		if !known[m[1]] {
			t.Errorf("%s: there is no test %s for: %s", proofs, m[1], s.text)
		}
	}
	files := testFile.FindAllStringSubmatch(tests, -1)
	for _, m := range scriptName.FindAllStringSubmatch(tests, -1) {
		files = append(files, []string{"", "testdata/session/" + m[1] + ".txtar"})
	}
	for _, m := range files {
		if _, err := os.Stat(filepath.Join(top, m[1])); err != nil {
			t.Errorf("%s: there is no test %s for: %s", proofs, m[1], s.text)
		}
	}
	if len(named)+len(files) == 0 {
		t.Errorf("%s: no test for: %s", s.page, s.text)
	}
}

var promisesLess = regexp.MustCompile(`\b(not|no)\b`)

// TestNotProtectedPerSystem checks that the security page has a section for each operating system,
// and one for all systems, about what is not protected there.
func TestNotProtectedPerSystem(t *testing.T) {
	var headings []string
	for _, s := range statements(t, "docs/use/security.md") {
		headings = append(headings, s.heading)
	}
	for _, system := range []string{"Linux", "macOS", "Windows", "every system"} {
		if !slices.Contains(headings, "Not protected on "+system) {
			t.Errorf("docs/use/security.md has no section \"Not protected on %s\"", system)
		}
	}
}
