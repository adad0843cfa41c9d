package internal_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHowToOfATool checks the instructions in CONTRIBUTING.md for adding a tool. It compiles the
// documented tool into the tools package with an overlay, and runs the tool's own test and the
// tests whose tables list all tools.
func TestHowToOfATool(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		if m[1] == "go" || m[1] == "markdown" {
			blocks = append(blocks, m[2])
		}
	}
	set, err := os.ReadFile("tools/set.go")
	if err != nil || len(blocks) != 3 {
		t.Fatalf("%d blocks, want the tool, its description and its test; %v", len(blocks), err)
	}
	with := strings.Replace(string(set), "env.lsTool(),", "env.lsTool(), env.countTool(),", 1)
	if with == string(set) {
		t.Fatal("set.go no longer names its constructors")
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for name, text := range map[string]string{"count.go": blocks[0], "count.md": blocks[1],
		"count_test.go": blocks[2], "set.go": with} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		at, err := filepath.Abs(filepath.Join("tools", name))
		if err != nil {
			t.Fatal(err)
		}
		replace[at] = filepath.Join(dir, name)
	}
	overlay := filepath.Join(dir, "overlay.json")
	raw, _ := json.Marshal(map[string]any{"Replace": replace})
	if err := os.WriteFile(overlay, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	// No other file needs to change, because the tables of these tests are derived from the
	// registered tools.
	const tables = "TestToolSearch|TestAliases|TestAlwaysSent|TestEveryFileToolWithstandsPathAttacks"
	out, err := exec.Command("go", "test", "-overlay", overlay, "-run", "^(TestCount|"+tables+")$",
		"-v", "./tools").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestCount") {
		t.Errorf("%v\n%s", err, out)
	}
}
