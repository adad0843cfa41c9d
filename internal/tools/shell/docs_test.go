package shell

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocumentedProcessLimits checks that the numbers in the section "Processes" of the permissions
// page match the code.
func TestDocumentedProcessLimits(t *testing.T) {
	page, err := os.ReadFile("../../../docs/use/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Processes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section = strings.Join(strings.Fields(section), " ")
	for _, want := range []string{
		fmt.Sprintf("%v s later SIGKILL", Grace.Seconds()),
		fmt.Sprintf("stopped after %v s", linger.Seconds()),
		fmt.Sprintf("up to %d commands", ordersPerHelper),
		fmt.Sprintf("up to %d MB", defaultSpill>>20),
	} {
		if !strings.Contains(section, want) {
			t.Errorf("docs/use/permissions.md does not say %q", want)
		}
	}
}
