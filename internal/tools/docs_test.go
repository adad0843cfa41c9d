package tools

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/reference/tools.md names every tool, with its limits as they are.
func TestDocs(t *testing.T) {
	raw, err := os.ReadFile("../../docs/reference/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	limits := map[string][]string{
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
		"ls":          {fmt.Sprintf("%d entries, %d levels", lsEntries, lsDepth)},
		"plan":        {fmt.Sprintf("%d entries", maxPlanEntries)},
		"ask_user":    {fmt.Sprintf("%d options", maxOptions)},
		"job": {fmt.Sprintf("%d running", maxRunningJobs),
			fmt.Sprintf("last %d KB", jobOutput>>10)},
		"fetch": {fmt.Sprintf("%d MB, %.0f s, %d redirects, %d KB", fetchBody/1_000_000,
			fetchTimeout.Seconds(), fetchRedirects, fetchShown>>10)},
		"web_search": {fmt.Sprintf("%d results", searchResults)},
	}
	for _, tool := range all(t) {
		name := tool.Spec().Name
		want, known := limits[name]
		row := ""
		for line := range strings.Lines(doc) {
			if strings.HasPrefix(line, "| `"+name+"` |") {
				row = line
			}
		}
		if !known || row == "" {
			t.Errorf("docs/reference/tools.md or this test does not know %s", name)
		}
		for _, w := range want {
			if !strings.Contains(row, w) {
				t.Errorf("%s: %q is not said", name, w)
			}
		}
	}
}
