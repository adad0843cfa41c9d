package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestEditorsDocumentation checks that the JSON snippets that users paste from the documentation
// are valid and start programs that exist.
func TestEditorsDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/use/acp.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1) {
		if !bytes.Contains(m[1], []byte("agent_servers")) &&
			!bytes.Contains(m[1], []byte(`"agents"`)) {
			continue // the configuration of another editor, which TestJSONInDocs checks
		}
		type server struct {
			Command string
			Args    []string
		}
		var config struct {
			Servers map[string]server `json:"agent_servers"`
			Agents  map[string]server // the format of acpx
		}
		if err := json.Unmarshal(m[1], &config); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
		for _, s := range slices.Concat(slices.Collect(maps.Values(config.Servers)),
			slices.Collect(maps.Values(config.Agents))) {
			found++
			started, _, err := (&program{}).commands().Find(s.Args)
			if s.Command != "agent-lsp" || len(s.Args) != 1 || err != nil || !started.HasParent() {
				t.Errorf("%+v starts nothing", s)
			}
		}
	}
	if found < 3 {
		t.Errorf("%d setups were found", found)
	}
}
