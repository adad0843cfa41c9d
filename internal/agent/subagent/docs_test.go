package subagent

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The limits listed in docs/reference/tools.md match the code.
func TestDocumentedLimits(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	for _, want := range []string{
		fmt.Sprintf("`tasks` runs at most %d sub-agents, of which %d run in parallel", MaxTasks, Concurrency),
		fmt.Sprintf("can be nested %d levels deep", MaxDepth),
		fmt.Sprintf("n answer beyond %d KB is cut in the middle", maxOutput>>10),
		fmt.Sprintf("within %.0f s of its end", closeTimeout.Seconds()),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/reference/tools.md does not say: %s", want)
		}
	}
}
