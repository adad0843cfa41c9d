package tools

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// The size of a tool is the size of the JSON that is sent for it. It is measured again if another
// tool gets the same name, and the cache of sizes is limited.
func TestToolsAreWeighedOnce(t *testing.T) {
	spec := tool.Spec{Name: "weighed_tool", Description: "Says \"it\" again.",
		Schema: json.RawMessage(`{"type":"object"}`)}
	for _, description := range []string{spec.Description, spec.Description, "Another."} {
		spec.Description = description
		sent := fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%q,`+
			`"parameters":%s}},`, spec.Name, spec.Description, spec.Schema)
		if n := SentBytes(spec); n != len(sent) {
			t.Errorf("%s weighs %d, not %d", sent, n, len(sent))
		}
	}
	weighs := func() float64 { return testing.AllocsPerRun(10, func() { SentBytes(spec) }) }
	if n := weighs(); n > 0 {
		t.Errorf("known tools are measured again, with %v allocations", n)
	}
	for i := range maxWeighed + 1 {
		SentBytes(tool.Spec{Name: fmt.Sprint("many_", i)})
	}
	weighed.Lock()
	defer weighed.Unlock()
	if n := len(weighed.tools); n > maxWeighed {
		t.Errorf("%d sizes are kept", n)
	}
}
