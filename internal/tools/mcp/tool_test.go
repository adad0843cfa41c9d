package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// The question about a call contains the server, the tool and all arguments.
func TestTheSubjectIsTheWholeCall(t *testing.T) {
	arguments := `{"sql": "` + strings.Repeat("x", 5000) + `; DROP"}`
	query := &serverTool{server: &server{conf: Config{Name: "db"}}, remote: "query"}
	p, err := query.Prepare(t.Context(), &tool.Call{Args: json.RawMessage(arguments)})
	if err != nil || p.Subject.Command != "db/query "+arguments {
		t.Errorf("%v, got %q", err, p.Subject.Command)
	}
}
