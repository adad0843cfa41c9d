package tools

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// limits lists the texts that the row of each tool must contain. The test of a new tool adds that
// tool's texts by calling documents.
var limits = map[string][]string{
	"read": {number(readLines) + " lines", fmt.Sprintf("%d KB", readBytes>>10),
		fmt.Sprintf("%d files", readFiles), number(maxLine) + " bytes", number(imageSide) +
			" pixels"},
	"edit": {fmt.Sprintf("%d edits", maxEdits),
		fmt.Sprintf("after %d failures", maxEditFailures)},
	"write": {},
	"bash": {fmt.Sprintf("%.0f s, at most %.0f s", bashTimeout.Seconds(),
		bashMaxTimeout.Seconds()), fmt.Sprintf("%d KB head, %d KB tail; %d MB", bashHead>>10,
		bashTail>>10, bashLive>>20)},
	"grep": {fmt.Sprintf("%d matches", grepDefault), fmt.Sprintf("%d KB", grepBytes>>10),
		fmt.Sprintf("%d bytes", grepLine)},
	"glob":        {fmt.Sprintf("%d paths", globDefault)},
	"tool_search": {fmt.Sprintf("%d per call", maxToolHits)},
	"apply_patch": {fmt.Sprintf("%d files", maxPatchFiles)},
	"plan":        {fmt.Sprintf("%d entries", maxPlanEntries)},
	"ask_user":    {fmt.Sprintf("%d options", maxOptions)},
	"job": {fmt.Sprintf("%d running", maxRunningJobs),
		fmt.Sprintf("last %d KB", jobOutput>>10)},
	"fetch": {fmt.Sprintf("%d MB, %.0f s, %d redirects, %d KB", fetchBody/1_000_000,
		fetchTimeout.Seconds(), fetchRedirects, fetchShown>>10)},
	"web_search": {fmt.Sprintf("%d results", searchResults)},
}

// documents adds texts, such as limits, that the row of a tool must contain.
func documents(tool string, says ...string) bool {
	limits[tool] = says
	return true
}

// docs/reference/tools.md contains the row from each tool's description, with the tool's current
// limits.
func TestDocs(t *testing.T) {
	const page = "../../docs/reference/tools.md"
	raw, err := os.ReadFile(page)
	must(t, err)
	lines := strings.Split(string(raw), "\n")
	for _, tool := range all(t) {
		name := tool.Spec().Name
		row := rowOf(t, name)
		want, known := limits[name]
		if !known {
			t.Errorf("no test calls documents(%q) with the limits of the tool", name)
		}
		for _, w := range want {
			if !strings.Contains(row, w) {
				t.Errorf("%s.md: the row does not contain %q", name, w)
			}
		}
		lines = withRow(lines, row)
	}
	got := strings.Join(lines, "\n")
	if *update {
		must(t, os.WriteFile(page, []byte(got), 0o644))
	} else if got != string(raw) {
		t.Errorf("%s does not have the rows of the descriptions: go test -run TestDocs -update",
			page)
	}
}

// rowOf returns the table row from a tool's description.
func rowOf(t *testing.T, name string) string {
	t.Helper()
	text, err := descriptions.ReadFile(name + ".md")
	must(t, err)
	_, row, _ := strings.Cut(string(text), "\n---\n")
	row = strings.ReplaceAll(strings.TrimSpace(row), "](../../docs/reference/", "](")
	if !strings.HasPrefix(row, "| `"+name+"` | ") || strings.Contains(row, "\n") {
		t.Fatalf("%s.md has no row for docs/reference/tools.md below a line of dashes: %q", name, row)
	}
	return row
}

// withRow returns the lines of a page with the given row. The row replaces the tool's existing row
// or, if there is none, is inserted above the row of lsp.
func withRow(lines []string, row string) []string {
	start := row[:strings.Index(row, "` |")+3]
	for i, l := range lines {
		if strings.HasPrefix(l, start) {
			lines[i] = row
			return lines
		}
	}
	for i, l := range lines {
		if strings.HasPrefix(l, "| `lsp` |") {
			return slices.Insert(lines, i, row)
		}
	}
	return append(lines, row)
}
